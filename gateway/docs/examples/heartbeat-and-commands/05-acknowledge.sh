curl -fsS -H "X-API-Key: $KEY" "$API/api/v1/game/servers/$SERVER/commands/$COMMAND/ack" \
  --json '{"guild_id": "'$GUILD'", "status": "success", "result": {"shown": true}}' | jq .data

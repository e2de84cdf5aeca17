curl -fsS -H "X-API-Key: $KEY" -H "X-Guild-ID: $GUILD" \
  "$API/api/v1/game/servers/$SERVER/commands?wait=25" | jq '.data.commands[] | {command_id, type, payload}'

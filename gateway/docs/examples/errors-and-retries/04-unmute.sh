curl -fsS -H "X-API-Key: $KEY" "$API/api/v1/moderation/$GUILD/game/unmute" \
  --json '{"game_id": 7011, "reason": "Enough"}' | jq .data

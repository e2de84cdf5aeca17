curl -fsS -H "X-API-Key: $KEY" "$API/api/v1/moderation/$GUILD/game/unban" \
  --json '{"game_id": 7004, "reason": "Appeal accepted"}' | jq .data

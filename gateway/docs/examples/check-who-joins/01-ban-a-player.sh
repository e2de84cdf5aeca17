curl -fsS -H "X-API-Key: $KEY" "$API/api/v1/moderation/$GUILD/game/ban" \
  --json '{"game_id": 7004, "reason": "Used speed hacks", "duration": "7d"}' | jq .data

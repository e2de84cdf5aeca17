curl -fsS --retry 4 --retry-connrefused --retry-max-time 60 \
  -H "X-API-Key: $KEY" -H "Idempotency-Key: $ID" "$API/api/v1/moderation/$GUILD/game/mute" \
  --json '{"game_id": 7011, "reason": "Spams the chat", "duration": "1h"}' | jq .data.id

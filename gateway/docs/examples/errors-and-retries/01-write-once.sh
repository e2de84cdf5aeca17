ID=$(cat /proc/sys/kernel/random/uuid)
for attempt in 1 2; do
  curl -fsS -i -H "X-API-Key: $KEY" -H "Idempotency-Key: $ID" "$API/api/v1/moderation/$GUILD/game/mute" \
    --json '{"game_id": 7011, "reason": "Spams the chat", "duration": "1h"}' | grep -i -E '^HTTP|idempotency'
done

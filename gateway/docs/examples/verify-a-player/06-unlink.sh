curl -fsS -H "X-API-Key: $KEY" "$API/api/v1/verification/unlink" \
  --json '{"guild_id": "'$GUILD'", "chat_id": "920000000000000005"}' | jq .data

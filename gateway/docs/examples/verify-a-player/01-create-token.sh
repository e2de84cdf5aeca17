CREATED=$(curl -fsS -H "X-API-Key: $KEY" "$API/api/v1/verification/tokens" \
  --json '{"guild_id": "'$GUILD'", "chat_id": "920000000000000005"}')
TOKEN=$(echo "$CREATED" | jq -r .data.token)
CODE=$(echo "$CREATED" | jq -r .data.code)
echo "Your code is $CODE"

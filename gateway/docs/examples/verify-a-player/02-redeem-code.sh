curl -fsS -H "X-API-Key: $KEY" "$API/api/v1/verification/redeem" \
  --json '{"guild_id": "'$GUILD'", "code": "'$CODE'", "game_id": 7005, "game_username": "EstherRows"}' | jq .data

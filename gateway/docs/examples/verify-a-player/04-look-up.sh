curl -fsS -H "X-API-Key: $KEY" -H "X-Guild-ID: $GUILD" "$API/api/v1/lookup/game/7005" | jq .data

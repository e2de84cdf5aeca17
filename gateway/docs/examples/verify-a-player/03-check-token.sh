curl -fsS -H "X-API-Key: $KEY" -H "X-Guild-ID: $GUILD" "$API/api/v1/verification/tokens/$TOKEN" | jq .data.status

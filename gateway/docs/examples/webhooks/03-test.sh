curl -fsS -X POST -H "X-API-Key: $KEY" "$API/api/v1/webhooks/$WEBHOOK/test" | jq .data

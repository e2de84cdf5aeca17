curl -fsS -X DELETE -H "X-API-Key: $KEY" "$API/api/v1/webhooks/$WEBHOOK" | jq .data

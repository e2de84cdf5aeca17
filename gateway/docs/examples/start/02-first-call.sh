curl -fsS -H "X-API-Key: $KEY" "$API/api/v1/whoami" | jq .data

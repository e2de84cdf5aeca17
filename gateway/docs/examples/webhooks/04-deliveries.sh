curl -fsS -H "X-API-Key: $KEY" -H "X-Guild-ID: $GUILD" "$API/api/v1/webhooks/$WEBHOOK/deliveries" |
  jq -c '.data.deliveries[] | {seq, attempt, status, error}'

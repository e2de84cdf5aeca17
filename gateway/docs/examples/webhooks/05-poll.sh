EVENTS=$(curl -fsS -H "X-API-Key: $KEY" -H "X-Guild-ID: $GUILD" "$API/api/v1/events?wait=25")
echo "$EVENTS" | jq -c '.data.events[] | {seq, type}'
AFTER=$(echo "$EVENTS" | jq .data.next_after)

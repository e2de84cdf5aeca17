EVENTS=$(curl -fsS -H "X-API-Key: $KEY" -H "X-Guild-ID: $GUILD" \
  "$API/api/v1/events?types=ban.*,link.*&wait=5")
echo "$EVENTS" | jq -c '.data.events[] | {seq, type, data}'
AFTER=$(echo "$EVENTS" | jq .data.next_after)

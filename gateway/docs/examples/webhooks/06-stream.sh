curl -sSN --max-time 5 -H "X-API-Key: $KEY" -H "X-Guild-ID: $GUILD" "$API/api/v1/events/stream" | head -n 20

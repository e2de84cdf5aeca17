curl -sSN --max-time 5 -H "X-API-Key: $KEY" -H "X-Guild-ID: $GUILD" "$API/api/v1/events/stream?after=0" | head -n 20

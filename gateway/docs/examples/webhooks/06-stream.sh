curl -fsSN -H "X-API-Key: $KEY" -H "X-Guild-ID: $GUILD" "$API/api/v1/events/stream?after=0" | head -n 8

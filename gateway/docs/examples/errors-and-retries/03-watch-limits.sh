curl -fsS -o /dev/null -D - -H "X-API-Key: $KEY" -H "X-Guild-ID: $GUILD" "$API/api/v1/bindings/list" | grep -i ratelimit

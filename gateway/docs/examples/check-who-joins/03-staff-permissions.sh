curl -fsS -H "X-API-Key: $KEY" "$API/api/v1/guilds/$GUILD/staff/game/7001/permissions" | jq .data

curl -fsS -H "X-API-Key: $KEY" "$API/api/v1/guilds/$GUILD/commands/$COMMAND" | jq '.data | {state, outcome, servers}'

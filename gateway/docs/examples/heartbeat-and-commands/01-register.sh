curl -fsS -H "X-API-Key: $KEY" "$API/api/v1/game/games/register" \
  --json '{"guild_id": "'$GUILD'", "universe_id": 30001, "place_id": 40001, "name": "Harbor Life"}' | jq .data

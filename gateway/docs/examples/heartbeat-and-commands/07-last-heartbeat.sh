curl -fsS -H "X-API-Key: $KEY" "$API/api/v1/game/servers/heartbeat" --json '{
  "guild_id": "'$GUILD'", "server_id": "'$SERVER'", "place_id": 40001,
  "player_count": 0, "max_players": 30, "final": true
}' | jq .data

SERVER='c9f1d1a0-7a54-4f5e-9f0b-3a4e8a1d2c77'
curl -fsS -H "X-API-Key: $KEY" "$API/api/v1/game/servers/heartbeat" --json '{
  "guild_id": "'$GUILD'", "server_id": "'$SERVER'", "place_id": 40001, "universe_id": 30001,
  "player_count": 1, "max_players": 30, "players": [{"game_id": 7001, "username": "AdaBuilds"}]
}' | jq .data

curl -fsS -H "X-API-Key: $KEY" "$API/api/v1/moderation/$GUILD/game/status" \
  --json '{"game_ids": [7001, 7004], "place_id": 40001}' |
  jq -r '.data.results | to_entries[] | "\(.key): \(if .value.banned then .value.ban_info.reason else "may play" end)"'

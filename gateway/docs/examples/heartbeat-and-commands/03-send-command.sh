COMMAND=$(curl -fsS -H "X-API-Key: $KEY" "$API/api/v1/guilds/$GUILD/commands" \
  --json '{"type": "broadcast", "all": true, "payload": {"text": "Restart in five minutes"}}' |
  jq -r .data.command_id)

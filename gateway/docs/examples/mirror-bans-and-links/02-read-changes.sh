curl -fsS -H "X-API-Key: $KEY" \
  "$API/api/v1/moderation/$GUILD/game/bans/active?updated_since=$BANS_SINCE" |
  jq '.data | {added: .bans, removed: .lifted, next: .server_time}'

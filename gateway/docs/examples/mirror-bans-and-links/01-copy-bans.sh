LIST="$API/api/v1/moderation/$GUILD/game/bans/active?limit=100"
rm -f bans.jsonl
CURSOR=''
while true; do
  PAGE=$(curl -fsS -H "X-API-Key: $KEY" "$LIST${CURSOR:+&cursor=$CURSOR}")
  echo "$PAGE" | jq -c '.data.bans[]' >> bans.jsonl
  BANS_SINCE=${BANS_SINCE:-$(echo "$PAGE" | jq .data.server_time)}
  CURSOR=$(echo "$PAGE" | jq -r '.data.next_cursor // empty')
  [ -n "$CURSOR" ] || break
done

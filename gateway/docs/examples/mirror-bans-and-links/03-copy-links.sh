LINKS=$(curl -fsS -H "X-API-Key: $KEY" "$API/api/v1/guilds/$GUILD/verified?limit=100")
echo "$LINKS" | jq -c '.data.users[]'
LINKS_SINCE=$(echo "$LINKS" | jq .data.server_time)

curl -fsS -H "X-API-Key: $KEY" "$API/api/v1/guilds/$GUILD/verified?updated_since=$LINKS_SINCE" |
  jq '.data | {linked: .users, unlinked}'

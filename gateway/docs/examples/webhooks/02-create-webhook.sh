URL='https://example.com/hooks'
CREATED=$(curl -fsS -H "X-API-Key: $KEY" "$API/api/v1/webhooks" \
  --json '{"guild_id": "'$GUILD'", "url": "'$URL'", "types": ["ban.*", "link.*"]}')
WEBHOOK=$(echo "$CREATED" | jq -r .data.id)
SECRET=$(echo "$CREATED" | jq -r .data.secret)

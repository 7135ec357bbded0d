package links

// RenewSecrets makes a new encryption key.
const RenewSecrets = "/settings/secrets/renew"

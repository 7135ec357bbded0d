package settings

// AuditSize is how many changes a page shows.
const AuditSize = auditSize

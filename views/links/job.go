package links

// JobTick takes index, text and met: whether a person found a criterion met.
func JobTick(key string) string { return Job(key) + "/tick" }

// JobLink takes kind and other, the job to link with.
func JobLink(key string) string { return Job(key) + "/link" }

// JobUnlink takes other and type.
func JobUnlink(key string) string { return Job(key) + "/unlink" }

// JobLinkable finds jobs to link with; it takes q.
func JobLinkable(key string) string { return Job(key) + "/linkable" }

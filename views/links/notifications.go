package links

// The pages of what a person is told of.
const (
	Notifications = "/settings/notifications"
	// TestNotifications sends a message on every channel.
	TestNotifications = "/settings/notifications/test"
	// PushSubscriptions takes a browser, and forgets one by its address.
	PushSubscriptions = "/settings/notifications/browsers"
	ForgetBrowser     = "/settings/notifications/browsers/forget"
	// PushWorker is the script that shows messages while no page is open.
	PushWorker = "/push-worker.js"
)

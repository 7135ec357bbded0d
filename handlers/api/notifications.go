package api

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/hooks/notifications"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// notificationHandlers answer the calls about what a person is told of.
type notificationHandlers struct{ *Deps }

type (
	// NotificationSettings is what a person is told of, where and when.
	NotificationSettings = notifications.Settings
	// PutNotificationsJSONRequestBody is what is changed of it.
	PutNotificationsJSONRequestBody = notifications.Change
	// AddBrowserJSONRequestBody is a browser that is to show messages.
	AddBrowserJSONRequestBody = notifications.Subscription
	// NotificationTest is how the channels of a person did.
	NotificationTest struct {
		Items []channelTest `json:"items"`
	}
	// BrowserList is the browsers of a person.
	BrowserList struct {
		Items     []listedBrowser `json:"items"`
		PublicKey string          `json:"public_key"`
	}
)

type channelTest struct {
	Channel notifications.Channel `json:"channel"`
	Sent    bool                  `json:"sent"`
	Error   string                `json:"error,omitempty"`
}

type listedBrowser struct {
	ID       ids.ID    `json:"id"`
	Browser  string    `json:"browser"`
	Since    time.Time `json:"since"`
	Outdated bool      `json:"outdated"`
}

// GetNotifications returns what a person is told of.
func (s *notificationHandlers) GetNotifications(ctx context.Context, _ GetNotificationsRequestObject) (
	GetNotificationsResponseObject, error,
) {
	set, err := s.Notify.Get(ctx, principal(ctx))
	return GetNotifications200JSONResponse(set), err
}

// PutNotifications changes what is named of it.
func (s *notificationHandlers) PutNotifications(ctx context.Context, r PutNotificationsRequestObject) (
	PutNotificationsResponseObject, error,
) {
	set, err := s.Notify.Save(ctx, principal(ctx), *r.Body)
	return PutNotifications200JSONResponse(set), err
}

// TestNotifications sends a message on every channel.
func (s *notificationHandlers) TestNotifications(ctx context.Context, _ TestNotificationsRequestObject) (
	TestNotificationsResponseObject, error,
) {
	list, err := s.Notify.Test(ctx, principal(ctx))
	answer := TestNotifications200JSONResponse{Items: []channelTest{}}
	for _, c := range list {
		answer.Items = append(answer.Items, channelTest{c.Channel, c.Error == "", c.Error})
	}
	return answer, err
}

// ListBrowsers returns the browsers that show messages.
func (s *notificationHandlers) ListBrowsers(ctx context.Context, _ ListBrowsersRequestObject) (ListBrowsersResponseObject, error) {
	list, err := s.browsers(ctx)
	return ListBrowsers200JSONResponse(list), err
}

// AddBrowser has a browser show messages.
func (s *notificationHandlers) AddBrowser(ctx context.Context, r AddBrowserRequestObject) (AddBrowserResponseObject, error) {
	if _, err := s.Notify.Subscribe(ctx, principal(ctx), *r.Body); err != nil {
		return nil, err
	}
	list, err := s.browsers(ctx)
	return AddBrowser200JSONResponse(list), err
}

func (s *notificationHandlers) browsers(ctx context.Context) (BrowserList, error) {
	all, err := s.Notify.Overview(ctx, principal(ctx))
	list := BrowserList{Items: []listedBrowser{}, PublicKey: all.PushKey}
	for _, b := range all.Browsers {
		list.Items = append(list.Items, listedBrowser{b.ID, b.Name, b.Since, b.Outdated})
	}
	return list, err
}

// RemoveBrowser forgets a browser.
func (s *notificationHandlers) RemoveBrowser(ctx context.Context, r RemoveBrowserRequestObject) (RemoveBrowserResponseObject, error) {
	id, ok := ids.Parse(r.Browser)
	if !ok {
		return nil, fault.New(fault.NotFound, "There is no such browser.")
	}
	return RemoveBrowser204Response{}, s.Notify.Unsubscribe(ctx, principal(ctx), id)
}

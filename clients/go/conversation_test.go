package germane

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"
)

func TestALongConversationIsSentShortAndComesBackWhole(t *testing.T) {
	var got *AssembleRequest
	service := &fake{assemble: func(_ context.Context, request *AssembleRequest) (*AssembleResponse, error) {
		got = request
		messages := []*Message{request.Messages[0], {Role: "user", Content: "(earlier)"}}
		messages = append(messages, request.Messages[1:len(request.Messages)-1]...)
		messages = append(messages, &Message{Role: "user", Content: "remembered"}, request.Messages[len(request.Messages)-1])
		return &AssembleResponse{Messages: messages}, nil
	}}
	client := dial(t, service.serve(t), Options{})
	request := asked()
	request.Messages = append(request.Messages, &Message{Role: "system", Content: "Be kind."})
	for number := 0; number < 10000; number++ {
		request.Messages = append(request.Messages, &Message{Role: "user", Content: fmt.Sprint("q", number)}, &Message{Role: "assistant", Content: fmt.Sprint("a", number)})
	}
	request.Messages = append(request.Messages, &Message{Role: "user", Content: "and now?"})
	response := client.Assemble(context.Background(), request)
	if response.Metadata.FallbackReason != "" {
		t.Fatal(response.Metadata)
	}
	if len(got.Messages) > maxMessages+2 || !strings.Contains(got.Messages[1].Content, "q7") {
		t.Fatal(len(got.Messages))
	}
	last := len(response.Messages) - 1
	mustHold(t, append(append([]*Message{}, response.Messages[:last-1]...), response.Messages[last]), request.Messages)
	if response.Messages[last-1].Content != "remembered" {
		t.Fatal("the memory is missing")
	}
}

func TestOfALongRunTheTextsAreCounted(t *testing.T) {
	message := &Message{Role: "user", Json: `{"role":"user","content":[{"type":"text","text":"caf\u00e9"}]}`}
	run := []*Message{message, {Role: "assistant", Content: "b\xff"}, {Role: "user", Json: "{"}}
	if got := standIn(run).Content; got != "café"+separator+"text"+separator+"user"+separator+"b\uFFFD"+separator+"{" {
		t.Fatal(got)
	}
	for len(run) < 9+maxParsed/len(message.Json) {
		run = append(run, message)
	}
	if got := standIn(run).Content; !strings.HasPrefix(got, message.Json+separator) {
		t.Fatal(got[:99])
	}
}

func BenchmarkALongConversation(b *testing.B) {
	var messages []*Message
	for number := 0; number < 20000; number++ {
		text := strings.Repeat("word ", 70)
		messages = append(messages, &Message{Role: []string{"user", "assistant"}[number%2],
			Json: compactJSON(map[string]any{"role": "user", "content": text})})
	}
	for round := 0; round < b.N; round++ {
		if _, err := sentMessages(messages); err != nil {
			b.Fatal(err)
		}
	}
}

func TestMoreTextThanCanBeSentIsNotSent(t *testing.T) {
	client := dial(t, unused(t), Options{})
	request := asked(strings.Repeat("x", maxTextBytes+1))
	mustBeOwn(t, request, client.Assemble(context.Background(), request), "client_error:oversized")
}

func TestAMessageMayGrowButNotLose(t *testing.T) {
	given := []*Message{
		{Role: "user", Json: `{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","source":{"data":"aa"}}]}`},
		{Role: "assistant", Json: `{"role":"assistant","content":"ok","tool_calls":[{"id":"c1"}]}`},
		{Role: "user", Content: "go on"},
	}
	grown := []*Message{
		{Role: "user", Json: `{"content":[{"type":"text","text":"remembered"},{"type":"text","text":"look"},{"type":"image","source":{"data":"aa"}}],"role":"user"}`},
		{Role: "assistant", Json: `{"tool_calls": [{"id": "c1"}], "content": "ok", "role": "assistant"}`},
		{Role: "user", Content: "go on"},
	}
	messages, err := check(t, given, grown, "", "", true)
	if err != nil || messages[0] != grown[0] || messages[1] != given[1] || messages[2] != given[2] {
		t.Fatal(messages, err)
	}
	for name, lost := range map[string]*Message{
		"its picture":  {Role: "user", Json: `{"role":"user","content":[{"type":"text","text":"look"}]}`},
		"its order":    {Role: "user", Json: `{"role":"user","content":[{"type":"image","source":{"data":"aa"}},{"type":"text","text":"look"}]}`},
		"a byte of it": {Role: "user", Json: `{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","source":{"data":"ab"}}]}`},
	} {
		if _, err := check(t, given, []*Message{lost, grown[1], grown[2]}, "", "", true); err != errAltered {
			t.Error(name, err)
		}
	}
	if _, err := check(t, given, []*Message{grown[0], {Role: "assistant", Content: "ok"}, grown[2]}, "", "", true); err != errAltered {
		t.Error("the call is missing", err)
	}
}

func TestSystemMessagesMayMoveIntoTheSystemPromptButNotVanish(t *testing.T) {
	given := []*Message{{Role: "system", Content: "Be kind."}, {Role: "user", Content: "hi"}}
	rest := []*Message{{Role: "user", Content: "hi"}}
	if _, err := check(t, given, rest, `"Use metric units."`, `"remembered\n\nUse metric units.\n\nBe kind."`, true); err != nil {
		t.Error(err)
	}
	if _, err := check(t, given, rest, "", `[{"type":"text","text":"Be kind."},{"type":"text","text":"remembered"}]`, true); err != nil {
		t.Error(err)
	}
	for _, system := range []string{"", `"remembered"`, `"Be kind."`, `5`, `{`} {
		if _, err := check(t, given, rest, `"Use metric units."`, system, true); err != errAltered {
			t.Error(system, err)
		}
	}
	if _, err := check(t, given, rest, "", "", false); err != errAltered {
		t.Error("OpenAI has one place for it only", err)
	}
}

func check(t *testing.T, given, answered []*Message, own, system string, apart bool) ([]*Message, error) {
	t.Helper()
	sent, err := sentMessages(given)
	if err != nil {
		t.Fatal(err)
	}
	return verified(sent, &AssembleResponse{Messages: answered, SystemJson: system}, own, apart)
}

func TestAnyAdditionPassesAndAnyLossIsSeen(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for round := 0; round < 2000; round++ {
		var given, answer []*Message
		for number := random.Intn(8); number >= 0; number-- {
			text := strings.Repeat("x", random.Intn(3)) + fmt.Sprint(random.Intn(4))
			message := &Message{Role: []string{"user", "assistant", "tool"}[random.Intn(3)], Content: text}
			if random.Intn(2) == 0 {
				message = &Message{Role: message.Role, Json: compactJSON(map[string]any{"role": message.Role, "content": text, "n": number})}
			}
			given = append(given, message)
		}
		for _, message := range given {
			if random.Intn(3) == 0 {
				answer = append(answer, &Message{Role: "system", Content: "remembered"})
			}
			answer = append(answer, &Message{Role: message.Role, Content: message.Content, Json: message.Json})
		}
		messages, err := check(t, given, answer, "", "", false)
		if err != nil || len(messages) != len(answer) {
			t.Fatal(given, answer, err)
		}
		index := random.Intn(len(answer))
		if answer[index].Role == "system" {
			continue
		}
		shorter := append(append([]*Message{}, answer[:index]...), answer[index+1:]...)
		if _, err := check(t, given, shorter, "", "", false); err == nil {
			t.Fatal("a loss wasn't seen", given, shorter)
		}
	}
}

func TestAProvidersOwnBytesAreKept(t *testing.T) {
	list := `[ {"role" : "user", "content":"h\u00e9 <b>", "x":1.0} ,{"role":"assistant","content":null}]`
	messages, err := MessagesFromJSON([]byte(list))
	if err != nil || messages[0].Role != "user" {
		t.Fatal(err)
	}
	messages = append(messages, &Message{Role: "user", Content: "<i>\xff"})
	wanted := `[{"role" : "user", "content":"h\u00e9 <b>", "x":1.0},{"role":"assistant","content":null},{"content":"<i>` + "\uFFFD" + `","role":"user"}]`
	if got := string(MessagesToJSON(messages)); got != wanted || !json.Valid([]byte(got)) {
		t.Fatal(got)
	}
	odd := "[{\"role\":\"user\",\"content\":\"\xff\"}]"
	if messages, err := MessagesFromJSON([]byte(odd)); err != nil || string(MessagesToJSON(messages)) != odd {
		t.Error(messages, err)
	}
	for _, wrong := range []string{"", "{}", "[1]", "[null]", `["a"]`, strings.Repeat("[", 1000000)} {
		if _, err := MessagesFromJSON([]byte(wrong)); err == nil {
			t.Error(wrong[:min(len(wrong), 9)])
		}
	}
}

func min(one, other int) int {
	if one < other {
		return one
	}
	return other
}

func TestASystemPromptBesideOpenAIsMessagesBecomesTheFirst(t *testing.T) {
	client := dial(t, unused(t), Options{})
	request := asked("hi")
	for written, wanted := range map[string]string{
		`"Be kind."`: "Be kind.", `[{"type":"text","text":"Be kind."},{"text":"Always."}]`: "Be kind.\n\nAlways.",
		`{"parts":[{"text":"Be kind."}]}`: "Be kind.",
	} {
		request.Options = &AssembleOptions{SystemJson: written}
		response := client.Assemble(context.Background(), request)
		if response.Messages[0].Content != wanted || response.SystemJson != "" || response.Messages[1] != request.Messages[0] {
			t.Error(written, response)
		}
	}
	request.Options = &AssembleOptions{SystemJson: `"Be kind."`, Provider: "anthropic"}
	if response := client.Assemble(context.Background(), request); response.SystemJson != `"Be kind."` || len(response.Messages) != 1 {
		t.Error(response)
	}
}

package germane

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"sort"
	"strings"
)

const (
	// maxMessages are written one by one, counted from the end: the service's work grows with each, and of more than 400 it reads
	// the last 100 in full. The run before them becomes one message with the texts of all, so that the service can count its size.
	maxMessages = 380
	// maxTextBytes of one request; more takes longer to write than a call may take.
	maxTextBytes = 8 << 20
	// maxLeading system messages at the beginning are written one by one, however long the conversation.
	maxLeading = 16
	// separator costs about as many tokens as a message costs besides its text.
	separator = "\n\n- user:\n"
	// maxParsed bytes of a run are read as JSON for their texts alone; a longer run, which would take too long, is counted whole.
	maxParsed = 512 << 10
)

// sentMessage is a message of the request and the caller's messages that it stands for: one, or a run of them.
type sentMessage struct {
	wire      *Message
	originals []*Message
	fields    map[string]any
	atoms     []atom
	read      bool
}

// MessagesFromJSON returns the messages of a provider's request, such as the value of "messages" of a chat completion. Each keeps
// its own bytes, which MessagesToJSON gives back.
func MessagesFromJSON(list []byte) ([]*Message, error) {
	var found []json.RawMessage
	if err := json.Unmarshal(list, &found); err != nil {
		return nil, err
	}
	messages := make([]*Message, len(found))
	for index, one := range found {
		var head struct {
			Role any `json:"role"`
		}
		if len(one) == 0 || one[0] != '{' || json.Unmarshal(one, &head) != nil {
			return nil, errors.New("germane: a message isn't a JSON object")
		}
		role, _ := head.Role.(string)
		messages[index] = &Message{Role: role, Json: string(one)}
	}
	return messages, nil
}

// MessagesToJSON returns messages as a JSON list for the provider.
func MessagesToJSON(messages []*Message) []byte {
	list := []byte{'['}
	for index, message := range messages {
		if index > 0 {
			list = append(list, ',')
		}
		if message.GetJson() != "" {
			list = append(list, message.Json...)
		} else {
			list = append(list, compactJSON(plainFields(message))...)
		}
	}
	return append(list, ']')
}

func plainFields(message *Message) map[string]any {
	return map[string]any{"role": valid(message.GetRole()), "content": valid(message.GetContent())}
}

func compactJSON(value any) string {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return ""
	}
	return strings.TrimSuffix(buffer.String(), "\n")
}

// sentMessages returns what is written for the caller's messages.
func sentMessages(messages []*Message) ([]sentMessage, error) {
	size := 0
	for _, message := range messages {
		if size += len(message.GetContent()) + len(message.GetJson()) + len(message.GetRole()); size > maxTextBytes {
			return nil, errOversized
		}
	}
	lead, tail := runBounds(messages)
	sent := make([]sentMessage, 0, len(messages)-(tail-lead)+1)
	for index := range messages {
		switch {
		case index == lead && lead < tail:
			sent = append(sent, sentMessage{wire: standIn(messages[lead:tail]), originals: messages[lead:tail]})
		case index < lead || index >= tail:
			one := messages[index]
			wire := &Message{Role: valid(one.GetRole()), Content: valid(one.GetContent()), Json: valid(one.GetJson())}
			sent = append(sent, sentMessage{wire: wire, originals: messages[index : index+1]})
		}
	}
	return sent, nil
}

// runBounds returns the first index of the run that is written as one message, and the index after its end; equal where there is
// none. The run ends before a user's turn, so that no tool's result is separated from its call.
func runBounds(messages []*Message) (int, int) {
	if len(messages) <= maxMessages {
		return 0, 0
	}
	first := len(messages) - maxMessages
	tail := first
	for index := first; index < len(messages); index++ {
		if isUsersTurn(messages[index]) {
			tail = index
			break
		}
	}
	for lead := 0; lead < maxLeading && lead < tail; lead++ {
		if role := messages[lead].GetRole(); role != "system" && role != "developer" {
			if tail-lead > 1 {
				return lead, tail
			}
			return 0, 0
		}
	}
	return 0, tail
}

func isUsersTurn(message *Message) bool {
	if message.GetRole() != "user" {
		return false
	}
	if message.GetJson() == "" {
		return true
	}
	fields, err := readFields(message)
	if err != nil {
		return false
	}
	parts, isList := contentOf(fields).([]any)
	for _, part := range parts {
		object, isObject := part.(map[string]any)
		if _, hasText := object["text"]; !isObject || !hasText {
			return false
		}
	}
	_, isText := contentOf(fields).(string)
	return isText || isList
}

// standIn returns one message with the texts of a run. Its role is the assistant's, because a user's turn comes next and some
// providers merge neighbours of one role.
func standIn(run []*Message) *Message {
	size := 0
	for _, message := range run {
		size += len(message.GetJson())
	}
	var texts []string
	for _, message := range run {
		if message.GetJson() == "" {
			texts = append(texts, message.GetContent())
			continue
		}
		if size <= maxParsed {
			if fields, err := readFields(message); err == nil {
				texts = appendTexts(texts, fields)
				continue
			}
		}
		texts = append(texts, message.GetJson())
	}
	return &Message{Role: "assistant", Content: valid(strings.Join(texts, separator))}
}

func appendTexts(texts []string, value any) []string {
	switch value := value.(type) {
	case string:
		texts = append(texts, value)
	case []any:
		for _, inner := range value {
			texts = appendTexts(texts, inner)
		}
	case map[string]any:
		for _, key := range sortedKeys(value) {
			texts = appendTexts(texts, value[key])
		}
	}
	return texts
}

func sortedKeys(fields map[string]any) []string {
	keys := make([]string, 0, len(fields))
	for key := range fields {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// The check of a reply. A message that came back as it was sent becomes the caller's pointer again. Any other message is split into
// atoms: each text, each part that isn't text, each further key. All atoms of the caller's messages must be in the response, under
// the same role and in the same order, whatever was added between them. Two things may be missing, because providers refuse them:
// germane's own keys (id, created_at, name) and blank texts.

type atom struct {
	key   string
	value any
}

var envelopeKeys = map[string]bool{"role": true, "content": true, "parts": true, "id": true, "created_at": true, "name": true}

// verified returns the messages to send to the model, or errAltered where the answer lacks one of the caller's.
func verified(sent []sentMessage, answer *AssembleResponse, ownSystem string, apart bool) ([]*Message, error) {
	system, err := readSystem(answer.GetSystemJson())
	if err != nil {
		return nil, err
	}
	apart = apart || system != nil
	inSystem := func(index int) bool { return apart && standardRole(sent[index].wire.Role) == "system" }
	messages := make([]*Message, 0, len(answer.GetMessages()))
	var addedUsers []int // indexes in messages
	var among [][]atom   // the atoms of system messages among the others
	position := 0        // of the next message of sent that has to be found
	for _, wire := range answer.GetMessages() {
		for position < len(sent) && inSystem(position) && !same(wire, sent[position].wire) {
			position++
		}
		if position < len(sent) && same(wire, sent[position].wire) {
			if len(sent[position].originals) > 1 {
				// the service had to put a user's message before this stand-in, an assistant's; the caller's own don't need it
				messages = without(messages, addedUsers)
			}
			messages = append(messages, sent[position].originals...)
			addedUsers = nil
			if inSystem(position) {
				atoms, err := sent[position].split()
				if err != nil {
					return nil, err
				}
				among = append(among, atoms)
			}
			position++
			continue
		}
		fields, err := readFields(wire)
		if err != nil {
			return nil, err
		}
		atoms, role := split(fields), roleOf(fields)
		if role == "system" {
			among = append(among, atoms)
		}
		end, matched, err := endOfMatch(sent, position, atoms, role, inSystem)
		if err != nil {
			return nil, err
		}
		if len(matched) == 0 && role != "system" && role != "user" && len(atoms) > 0 {
			return nil, errAltered
		}
		position = end
		for _, index := range matched {
			if len(sent[index].originals) > 1 {
				return nil, errAltered
			}
		}
		if len(matched) == 1 && reflect.DeepEqual(fields, sent[matched[0]].fields) {
			messages = append(messages, sent[matched[0]].originals...)
			continue
		}
		if len(matched) == 0 && role == "user" {
			addedUsers = append(addedUsers, len(messages))
		}
		messages = append(messages, wire)
	}
	inside := [][]atom{beside(ownSystem)}
	for index := range sent {
		atoms, err := sent[index].splitIf(index >= position || inSystem(index))
		if err != nil {
			return nil, err
		}
		if index >= position && len(atoms) > 0 && !inSystem(index) {
			return nil, errAltered
		}
		if inSystem(index) && !anyHolds(among, atoms) {
			inside = append(inside, atoms)
		}
	}
	return messages, verifySystem(inside, system)
}

// endOfMatch returns the index after the last message of sent, from start on, whose atoms are all in one message, and the indexes of
// those messages.
func endOfMatch(sent []sentMessage, start int, available []atom, role string, inSystem func(int) bool) (int, []int, error) {
	offset, end := 0, start
	var matched []int
	for index := start; index < len(sent); index++ {
		atoms, err := sent[index].split()
		if err != nil {
			return 0, nil, err
		}
		if len(atoms) == 0 || inSystem(index) {
			continue
		}
		after, found := find(atoms, available, offset)
		if roleOf(sent[index].fields) != role || !found {
			break
		}
		offset, end = after, index+1
		matched = append(matched, index)
	}
	return end, matched, nil
}

func (s *sentMessage) split() ([]atom, error) {
	if !s.read {
		fields, err := readFields(s.wire)
		if err != nil {
			return nil, err
		}
		s.fields, s.atoms, s.read = fields, split(fields), true
	}
	return s.atoms, nil
}

func (s *sentMessage) splitIf(wanted bool) ([]atom, error) {
	if !wanted {
		return nil, nil
	}
	return s.split()
}

func same(one, other *Message) bool {
	return one.GetRole() == other.GetRole() && one.GetContent() == other.GetContent() && one.GetJson() == other.GetJson()
}

func without(messages []*Message, indexes []int) []*Message {
	for number, index := range indexes {
		index -= number
		messages = append(messages[:index], messages[index+1:]...)
	}
	return messages
}

func readFields(message *Message) (map[string]any, error) {
	if message.GetJson() == "" {
		return plainFields(message), nil
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(message.Json), &fields); err != nil || fields == nil {
		return nil, &fallback{reason: "client_error:InvalidInput", hint: "a message isn't a JSON object"}
	}
	return fields, nil
}

// readSystem returns a string or a list; nil for an answer without a system prompt.
func readSystem(written string) (any, error) {
	if written == "" {
		return nil, nil
	}
	var system any
	if json.Unmarshal([]byte(written), &system) != nil {
		return nil, errAltered
	}
	switch system.(type) {
	case nil, string, []any:
		return system, nil
	}
	return nil, errAltered
}

func contentOf(fields map[string]any) any {
	if content, has := fields["content"]; has {
		return content
	}
	return fields["parts"]
}

func split(fields map[string]any) []atom {
	content := contentOf(fields)
	parts, isList := content.([]any)
	if !isList {
		parts = []any{content}
	}
	var atoms []atom
	for _, part := range parts {
		if text, isText := textOf(part); !isText {
			if !empty(part) {
				atoms = append(atoms, atom{"part", part})
			}
		} else if strings.TrimSpace(text) != "" {
			atoms = append(atoms, atom{"text", text})
		}
	}
	for _, key := range sortedKeys(fields) {
		if !envelopeKeys[key] && fields[key] != nil {
			atoms = append(atoms, atom{key, fields[key]})
		}
	}
	return atoms
}

func empty(part any) bool {
	object, isObject := part.(map[string]any)
	return part == nil || isObject && len(object) == 0
}

// textOf returns the text of a part that holds nothing else.
func textOf(part any) (string, bool) {
	if text, isText := part.(string); isText {
		return text, true
	}
	object, _ := part.(map[string]any)
	text, hasText := object["text"].(string)
	if !hasText || len(object) > 2 || len(object) == 2 && object["type"] != "text" {
		return "", false
	}
	return text, true
}

// find returns the index in available after the last of wanted, which must occur in order from start on, with anything between.
func find(wanted, available []atom, start int) (int, bool) {
	for _, one := range wanted {
		for start < len(available) && !(available[start].key == one.key && reflect.DeepEqual(available[start].value, one.value)) {
			start++
		}
		if start == len(available) {
			return 0, false
		}
		start++
	}
	return start, true
}

func anyHolds(lists [][]atom, wanted []atom) bool {
	for _, list := range lists {
		if _, found := find(wanted, list, 0); found {
			return true
		}
	}
	return false
}

// beside returns the atoms of the caller's system prompt beside the messages.
func beside(written string) []atom {
	var value any
	if written == "" || json.Unmarshal([]byte(written), &value) != nil {
		return nil
	}
	if object, isObject := value.(map[string]any); isObject && object["parts"] != nil {
		return split(object)
	}
	return split(map[string]any{"content": value})
}

// verifySystem returns errAltered unless the system prompt holds each text and part of the caller's system messages, in order.
func verifySystem(lists [][]atom, system any) error {
	joined, _ := system.(string)
	parts, _ := system.([]any)
	var texts []string
	others := map[string]bool{}
	for _, part := range parts {
		if text, isText := textOf(part); isText {
			texts = append(texts, text)
		} else {
			others[compactJSON(part)] = true
		}
	}
	if parts != nil {
		joined = strings.Join(texts, "\n\n")
	}
	start := 0
	for _, atoms := range lists {
		for _, one := range atoms {
			switch one.key {
			case "text":
				text := one.value.(string)
				found := strings.Index(joined[start:], text)
				if found < 0 {
					return errAltered
				}
				start += found + len(text)
			case "part":
				if !others[compactJSON(one.value)] {
					return errAltered
				}
			}
		}
	}
	return nil
}

func roleOf(fields map[string]any) string {
	role, _ := fields["role"].(string)
	return standardRole(role)
}

func standardRole(role string) string {
	switch role {
	case "model":
		return "assistant"
	case "developer":
		return "system"
	}
	return role
}

// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

// What JSON becomes in memory, in bytes, and at the most: it is decoded into structs, most fields of which stay empty, or
// into maps.
const (
	// jsonWhole is an object in the list that it is appended to, with the structs that its fields may point to.
	jsonWhole = 3 << 10
	// jsonPart is an element of a list within one: a small struct, or a map.
	jsonPart = 512
	// jsonEmpty is an object that is no element, and jsonFilled what a map takes more for its first entries.
	jsonEmpty, jsonFilled = 96, 320
	// jsonPair is a name and a value.
	jsonPair = 96
	// jsonLevels is how deep lists lie that may be of whole objects: in an object, or in that of an event, and its parts.
	jsonLevels = 3
	// jsonDepth is how deep any decoder follows.
	jsonDepth = 10_000
)

// jsonScale weighs JSON as it comes, in parts that may begin and end anywhere. Each element of an array counts like an
// object, whatever it is: appended to a list of structs, a 0 takes as much as one. An object elsewhere is the one field of
// its name, of which an element has few. What is no JSON is not decoded, and it does not matter what it weighs.
type jsonScale struct {
	// typed says that every element may be a large struct: protobuf was asked for, and thus a kind that has such.
	typed bool

	empty         bool   // the brace that was opened last holds nothing yet
	open          []byte // the brackets that are open
	objects       int    // how many of them are braces
	text, escaped bool
	// sent and cost are the bytes of the value that is open at the top, and what it has come to; what of that is not free
	// is told once.
	sent            int
	cost, told, due int64
}

// weigh answers how much more what is read became, beyond what is free for each value at the top.
func (s *jsonScale) weigh(p []byte) int64 {
	begin := 0 // of what sent does not count yet
	for i := 0; i < len(p); i++ {
		switch {
		case s.escaped:
			s.escaped = false
			continue
		case s.text:
			for i < len(p) && p[i] != '"' && p[i] != '\\' {
				i++
			}
			if i < len(p) {
				s.text, s.escaped = p[i] != '"', p[i] == '\\'
			}
			continue
		}
		cost := int64(0)
		switch p[i] {
		case '"':
			s.text = true
		case '{':
			if !s.inArray() {
				cost = jsonEmpty
			}
			s.push('{')
			s.empty = true
		case '[':
			cost = s.element()
			s.push('[')
		case ',':
			if s.inArray() {
				cost = s.element()
			}
		case ':':
			cost = jsonPair
			if s.empty {
				cost += jsonFilled
			}
			s.empty = false
		case '}', ']':
			s.empty = false
			if s.pop() { // an event has ended
				s.sent, s.cost, s.told = 0, 0, 0
				begin = i + 1
			}
		}
		if cost > 0 {
			s.sent += i + 1 - begin
			begin = i + 1
			s.spend(cost)
		}
	}
	s.sent += len(p) - begin
	due := s.due
	s.due = 0
	return due
}

// spend counts at every step, so that it does not matter where a part ends.
func (s *jsonScale) spend(cost int64) {
	s.cost += cost
	if over := s.cost - free(s.sent); over > s.told {
		s.due += over - s.told
		s.told = over
	}
}

func (s *jsonScale) inArray() bool { return len(s.open) > 0 && s.open[len(s.open)-1] == '[' }

// element is what one more element of an array takes at this place.
func (s *jsonScale) element() int64 {
	if s.typed || s.objects < jsonLevels {
		return jsonWhole
	}
	return jsonPart
}

func (s *jsonScale) push(bracket byte) {
	if len(s.open) == jsonDepth {
		return
	}
	s.open = append(s.open, bracket)
	if bracket == '{' {
		s.objects++
	}
}

// pop tells whether nothing is open any more.
func (s *jsonScale) pop() bool {
	last := len(s.open) - 1
	if last < 0 {
		return false
	}
	if s.open[last] == '{' {
		s.objects--
	}
	s.open = s.open[:last]
	return last == 0
}

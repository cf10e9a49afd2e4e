package session

// idleList is a ring of conversations, longest idle first. It links the
// conversations themselves, so that moving one allocates nothing.
type idleList struct{ root conversation }

func (l *idleList) init() { l.root.prev, l.root.next = &l.root, &l.root }

func (l *idleList) front() *conversation {
	if l.root.next == &l.root {
		return nil
	}
	return l.root.next
}

func (l *idleList) push(c *conversation) {
	c.prev, c.next = l.root.prev, &l.root
	c.prev.next, l.root.prev = c, c
}

// remove takes c out; it is fine if c is not in the list.
func (l *idleList) remove(c *conversation) {
	if c.next == nil {
		return
	}
	c.prev.next, c.next.prev = c.next, c.prev
	c.prev, c.next = nil, nil
}

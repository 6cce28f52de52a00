package main

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kadm"
)

// groupOffsets are the offsets of a group, read and changed by the requests that its type has: those committed of a classic or a
// consumer group, and where reading begins of a share group (KIP-932).
type groupOffsets struct {
	group string
	share bool
}

// read tells the offset of each partition that the group has one of; -1 where a share group has not begun.
func (g groupOffsets) read(ctx context.Context, admin *kadm.Client) (map[partition]int64, error) {
	if g.share {
		return g.readShare(ctx, admin)
	}
	answers, err := admin.FetchOffsets(ctx, g.group)
	if err != nil {
		return nil, refused("group", g.group, cause(err), "")
	}
	known := make(map[partition]int64)
	answers.Each(func(o kadm.OffsetResponse) { known[partition{o.Topic, o.Partition}] = o.At })
	return known, nil
}

func (g groupOffsets) readShare(ctx context.Context, admin *kadm.Client) (map[partition]int64, error) {
	answers, err := admin.DescribeShareGroupOffsets(ctx, g.group)
	if err == nil {
		err = answers[g.group].Err
	}
	if err != nil {
		return nil, refused("group", g.group, cause(err), "")
	}
	known := make(map[partition]int64)
	for topic, offsets := range answers[g.group].Offsets {
		for index, o := range offsets {
			known[partition{topic, index}] = o.StartOffset
		}
	}
	return known, nil
}

// errUnanswered is said of a partition that an answer leaves out. Kafka 4.1.1 leaves out of AlterShareGroupOffsets what exists.
var errUnanswered = errors.New("the node does not tell what became of it")

// write moves the offsets to those of the plan.
func (g groupOffsets) write(ctx context.Context, admin *kadm.Client, plan []plannedOffset) error {
	offsets := kadm.Offsets{}
	for _, p := range plan {
		offsets.AddOffset(p.Topic, p.Partition, p.Offset, -1)
	}
	write := g.commit
	if g.share {
		write = g.alterShare
	}
	outcome, err := write(ctx, admin, offsets)
	if err != nil {
		return refused("group", g.group, cause(err), "")
	}
	var failures []error
	for _, p := range plan {
		if err := outcome(p.Topic, p.Partition); err != nil {
			failures = append(failures, refused("partition", partitionName(p.partition), err, ""))
		}
	}
	return errors.Join(failures...)
}

// partitionOutcome tells what became of a partition; errUnanswered if the answer leaves it out.
type partitionOutcome func(topic string, index int32) error

func (g groupOffsets) commit(ctx context.Context, admin *kadm.Client, offsets kadm.Offsets) (partitionOutcome, error) {
	answers, err := admin.CommitOffsets(ctx, g.group, offsets)
	return func(topic string, index int32) error {
		answer, answered := answers.Lookup(topic, index)
		return orUnanswered(answer.Err, answered)
	}, err
}

func (g groupOffsets) alterShare(ctx context.Context, admin *kadm.Client, offsets kadm.Offsets) (partitionOutcome, error) {
	answers, err := admin.AlterShareGroupOffsets(ctx, g.group, offsets)
	return func(topic string, index int32) error { return orUnanswered(answers.Lookup(topic, index)) }, err
}

func orUnanswered(err error, answered bool) error {
	if !answered {
		return errUnanswered
	}
	return err
}

// delete takes away the offsets of partitions of a classic or a consumer group.
func (g groupOffsets) delete(ctx context.Context, admin *kadm.Client, partitions []partition) ([]deletedOffset, error) {
	set := kadm.TopicsSet{}
	for _, p := range partitions {
		set.Add(p.Topic, p.Partition)
	}
	answers, err := admin.DeleteOffsets(ctx, g.group, set)
	if err != nil {
		return nil, refused("group", g.group, cause(err), "")
	}
	deleted, failures := []deletedOffset{}, []error(nil)
	for _, p := range partitions {
		if err := answers[p.Topic][p.Partition]; err != nil {
			failures = append(failures, refused("partition", partitionName(p), err, ""))
			continue
		}
		deleted = append(deleted, deletedOffset{p, "deleted"})
	}
	return deleted, errors.Join(failures...)
}

// deleteShare takes away all that a share group knows of topics: the request knows no partitions.
func (g groupOffsets) deleteShare(ctx context.Context, admin *kadm.Client, partitions []partition) ([]deletedOffset, error) {
	topics := topicsOf(partitions)
	answers, err := admin.DeleteShareGroupOffsets(ctx, g.group, topics...)
	if err != nil {
		return nil, refused("group", g.group, cause(err), "")
	}
	var failures []error
	for _, topic := range topics {
		if err := orUnanswered(answers.Lookup(topic)); err != nil {
			failures = append(failures, refused("topic", topic, err, ""))
		}
	}
	deleted := []deletedOffset{}
	for _, p := range partitions {
		if orUnanswered(answers.Lookup(p.Topic)) == nil {
			deleted = append(deleted, deletedOffset{p, "deleted"})
		}
	}
	return deleted, errors.Join(failures...)
}

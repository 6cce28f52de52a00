// Package powercut makes file systems whose power a test can cut.
//
// A [Disk] is an image file on a loop device with ext4 or XFS on it. Cut shuts the file system down by ioctl without
// flushing its log (EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN, flag NOLOGFLUSH): from that instant nothing that is only in the
// page cache reaches the image, every write and fsync fails with EIO, and what the next mount finds is what had been
// synced, as after a power cut. The whole cycle takes less than a second.
//
//	New ── mounted ── Cut ── shut down ── Remount ── mounted … Close
//
// It needs root, loop devices and mkfs; where they can't be had, New skips the test and says what was missing.
//
// What it does not show: a device that lies about its own cache, or writes that it reorders between two flushes.
package powercut

//! The block device (section 5.2): read, write, flush, get ID.

use super::device::{ConfigSpace, Device, QueueKind};
use super::disk::{BlockConfig, Disk, DiskError, SECTOR_BYTES};
use super::queue::{QueueFault, Request};
use std::io::{self, Read, Write};
use virtio_bindings::virtio_blk::{
    VIRTIO_BLK_F_BLK_SIZE, VIRTIO_BLK_F_FLUSH, VIRTIO_BLK_F_RO, VIRTIO_BLK_F_SEG_MAX, VIRTIO_BLK_F_SIZE_MAX,
    VIRTIO_BLK_ID_BYTES, VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_OK, VIRTIO_BLK_S_UNSUPP, VIRTIO_BLK_T_FLUSH,
    VIRTIO_BLK_T_GET_ID, VIRTIO_BLK_T_IN, VIRTIO_BLK_T_OUT,
};
use virtio_bindings::virtio_ids::VIRTIO_ID_BLOCK;
use virtio_queue::{Reader, Writer};

/// Most bytes of a request. A driver is told to stay below 4 MiB, but U-Boot asks for whole extents of ext4 at once, which have up to 128 MiB, and
/// QEMU serves them.
const LONGEST_REQUEST: u64 = 128 << 20;

/// Most segments of a request and most bytes of each, as drivers are told: just under 4 MiB together.
const SEGMENTS: u32 = 126;
const SEGMENT_BYTES: u32 = 32 << 10;

/// Type, reserved, and sector (section 5.2.6).
const HEADER_BYTES: usize = 16;

/// Bytes moved at a time between image and guest.
const CHUNK_BYTES: usize = 64 << 10;

/// A virtio disk.
#[derive(Debug)]
pub struct Block {
    disk: Disk,
    id: [u8; VIRTIO_BLK_ID_BYTES as usize],
    chunk: Vec<u8>,
    host_errors: u64,
    last_host_error: Option<io::Error>,
}

/// Why a request fails: its status is IOERR or UNSUPP.
enum Failure {
    /// Out of bounds, no whole sectors, or a write to a read-only disk.
    Refused,
    /// A type of request that the device did not offer.
    Unsupported,
    /// The host failed.
    Host(io::Error),
}

impl Block {
    /// Opens a disk.
    ///
    /// # Errors
    /// [`DiskError`], naming the image.
    pub fn open(config: &BlockConfig) -> Result<Self, DiskError> {
        let mut id = [0; VIRTIO_BLK_ID_BYTES as usize];
        let length = config.id.len().min(id.len());
        id[..length].copy_from_slice(&config.id.as_bytes()[..length]);
        Ok(Self {
            disk: Disk::open(&config.path, &config.mode)?,
            id,
            chunk: vec![0; CHUNK_BYTES],
            host_errors: 0,
            last_host_error: None,
        })
    }

    /// How many requests the host failed, and what it said last.
    pub(crate) fn host_errors(&self) -> Option<(u64, &io::Error)> {
        self.last_host_error.as_ref().map(|error| (self.host_errors, error))
    }

    /// Offset of a transfer of `bytes` bytes at `sector`, if it lies within the disk.
    fn locate(&self, sector: u64, bytes: usize) -> Result<u64, Failure> {
        let bytes = bytes as u64;
        let end = sector.checked_add(bytes / SECTOR_BYTES).ok_or(Failure::Refused)?;
        if !bytes.is_multiple_of(SECTOR_BYTES) || end > self.disk.sectors() {
            return Err(Failure::Refused);
        }
        Ok(sector * SECTOR_BYTES)
    }

    fn read(&mut self, sector: u64, data: &mut Writer<'_>) -> Result<(), Failure> {
        let mut offset = self.locate(sector, data.available_bytes())?;
        while data.available_bytes() > 0 {
            let chunk = &mut self.chunk[..data.available_bytes().min(CHUNK_BYTES)];
            self.disk.read(offset, chunk).and_then(|()| data.write_all(chunk)).map_err(Failure::Host)?;
            offset += chunk.len() as u64;
        }
        Ok(())
    }

    fn write(&mut self, sector: u64, data: &mut Reader<'_>) -> Result<(), Failure> {
        let mut offset = self.locate(sector, data.available_bytes())?;
        if self.disk.is_read_only() {
            return Err(Failure::Refused);
        }
        while data.available_bytes() > 0 {
            let chunk = &mut self.chunk[..data.available_bytes().min(CHUNK_BYTES)];
            data.read_exact(chunk).and_then(|()| self.disk.write(offset, chunk)).map_err(Failure::Host)?;
            offset += chunk.len() as u64;
        }
        Ok(())
    }

    fn get_id(&self, data: &mut Writer<'_>) -> Result<(), Failure> {
        let length = data.available_bytes().min(self.id.len());
        data.write_all(&self.id[..length]).map_err(Failure::Host)
    }

    fn carry_out(&mut self, request: &mut Request<'_>) -> Result<(), Failure> {
        let mut header = [0; HEADER_BYTES];
        request.readable.read_exact(&mut header).map_err(Failure::Host)?;
        let [t0, t1, t2, t3, _, _, _, _, sector @ ..] = header;
        let sector = u64::from_le_bytes(sector);
        match u32::from_le_bytes([t0, t1, t2, t3]) {
            VIRTIO_BLK_T_IN => self.read(sector, &mut request.writable),
            VIRTIO_BLK_T_OUT => self.write(sector, &mut request.readable),
            VIRTIO_BLK_T_FLUSH => self.disk.flush().map_err(Failure::Host),
            VIRTIO_BLK_T_GET_ID => self.get_id(&mut request.writable),
            _ => Err(Failure::Unsupported),
        }
    }

    fn status(&mut self, result: Result<(), Failure>) -> u32 {
        match result {
            Ok(()) => VIRTIO_BLK_S_OK,
            Err(Failure::Refused) => VIRTIO_BLK_S_IOERR,
            Err(Failure::Unsupported) => VIRTIO_BLK_S_UNSUPP,
            Err(Failure::Host(error)) => {
                self.host_errors += 1;
                self.last_host_error = Some(error);
                VIRTIO_BLK_S_IOERR
            }
        }
    }
}

impl Device for Block {
    fn name(&self) -> &'static str {
        "block"
    }

    fn id(&self) -> u32 {
        VIRTIO_ID_BLOCK
    }

    fn features(&self) -> u64 {
        let always = 1 << VIRTIO_BLK_F_SIZE_MAX
            | 1 << VIRTIO_BLK_F_SEG_MAX
            | 1 << VIRTIO_BLK_F_BLK_SIZE
            | 1 << VIRTIO_BLK_F_FLUSH;
        if self.disk.is_read_only() { always | 1 << VIRTIO_BLK_F_RO } else { always }
    }

    fn queues(&self) -> &'static [QueueKind] {
        &[QueueKind::Served]
    }

    fn longest_request(&self) -> u64 {
        LONGEST_REQUEST
    }

    fn config(&self) -> ConfigSpace {
        let mut config = [0; 64];
        config[0..8].copy_from_slice(&self.disk.sectors().to_le_bytes());
        config[8..12].copy_from_slice(&SEGMENT_BYTES.to_le_bytes());
        config[12..16].copy_from_slice(&SEGMENTS.to_le_bytes());
        config[20..24].copy_from_slice(&(SECTOR_BYTES as u32).to_le_bytes());
        config
    }

    /// The status is the last writable byte. Of a failed read the data may be unwritten, so that only 0 bytes from the
    /// writable start are sure to be written (section 2.7.8.2); the status is in its place all the same.
    fn serve(&mut self, _queue: usize, request: &mut Request<'_>) -> Result<u32, QueueFault> {
        let writable = request.writable.available_bytes();
        if request.readable.available_bytes() < HEADER_BYTES || writable == 0 {
            return Err(QueueFault::Request);
        }
        let mut status_byte = request.writable.split_at(writable - 1).map_err(|_| QueueFault::Request)?;
        let result = self.carry_out(request);
        let filled = request.writable.available_bytes() == 0;
        let status = self.status(result);
        status_byte.write_all(&[status as u8]).map_err(|_| QueueFault::Request)?;
        Ok(if filled { writable as u32 } else { request.writable.bytes_written() as u32 })
    }
}

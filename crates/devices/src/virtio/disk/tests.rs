use super::*;
use proptest::prelude::*;
use std::io::Write;

fn image(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

fn numbered(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index / 7) as u8).collect()
}

#[test]
fn an_overlay_leaves_the_image_alone() {
    let before = numbered(20 * 512);
    let file = image(&before);
    let mut disk = Disk::open(file.path(), &ImageMode::Overlay).unwrap();
    assert_eq!(disk.sectors(), 20);
    disk.write(3 * 512, &[0xee; 1024]).unwrap();
    disk.flush().unwrap();
    let mut after = vec![0; before.len()];
    disk.read(0, &mut after).unwrap();
    let mut expected = before.clone();
    expected[3 * 512..5 * 512].fill(0xee);
    assert_eq!(after, expected);
    assert_eq!(std::fs::read(file.path()).unwrap(), before);
    drop(disk);
    let disk = Disk::open(file.path(), &ImageMode::Overlay).unwrap();
    disk.read(0, &mut after).unwrap();
    assert_eq!(after, before, "the overlay is gone with the disk");
}

#[test]
fn an_image_that_cannot_be_written_can_have_an_overlay() {
    let file = image(&[1; 512]);
    let mut permissions = file.as_file().metadata().unwrap().permissions();
    permissions.set_readonly(true);
    file.as_file().set_permissions(permissions).unwrap();
    let mut disk = Disk::open(file.path(), &ImageMode::Overlay).unwrap();
    disk.write(0, &[2; 512]).unwrap();
    assert_eq!(std::fs::read(file.path()).unwrap(), [1; 512]);
}

#[test]
fn writes_go_through_where_asked() {
    let file = image(&[0; 1024]);
    let mut disk = Disk::open(file.path(), &ImageMode::WriteThrough).unwrap();
    assert!(!disk.is_read_only());
    disk.write(512, &[7; 512]).unwrap();
    disk.flush().unwrap();
    assert_eq!(std::fs::read(file.path()).unwrap()[510..514], [0, 0, 7, 7]);
}

#[test]
fn a_read_only_disk_refuses_writes() {
    let file = image(&[5; 512]);
    let mut disk = Disk::open(file.path(), &ImageMode::ReadOnly).unwrap();
    assert!(disk.is_read_only());
    assert!(disk.write(0, &[0; 512]).is_err());
    assert_eq!(std::fs::read(file.path()).unwrap(), [5; 512]);
}

#[test]
fn errors_name_the_image() {
    let missing = Disk::open(Path::new("/nowhere/disk.img"), &ImageMode::Overlay).unwrap_err();
    assert!(matches!(missing, DiskError::Image { .. }));
    assert!(missing.to_string().starts_with("disk image /nowhere/disk.img: "), "{missing}");
    let short = image(&[0; 511]);
    let empty = Disk::open(short.path(), &ImageMode::Overlay).unwrap_err();
    assert!(matches!(empty, DiskError::Empty { .. }));
    let directory = tempfile::tempdir().unwrap();
    assert!(matches!(Disk::open(directory.path(), &ImageMode::Overlay), Err(DiskError::Kind { .. })));
}

#[test]
fn the_rest_after_the_last_whole_sector_is_no_part_of_the_disk() {
    let file = image(&[0; 3 * 512 + 100]);
    assert_eq!(Disk::open(file.path(), &ImageMode::Overlay).unwrap().sectors(), 3);
}

#[test]
fn an_image_that_shrinks_underneath_is_an_error() {
    let file = image(&[0; 8192]);
    let disk = Disk::open(file.path(), &ImageMode::Overlay).unwrap();
    file.as_file().set_len(4096).unwrap();
    assert!(disk.read(0, &mut [0; 8192]).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Against a plain array; the image ends within a unit.
    #[test]
    fn an_overlay_reads_as_if_written(
        writes in proptest::collection::vec((0_u64..37, 1_usize..20, any::<u8>()), 1..40),
    ) {
        let before = numbered(37 * 512);
        let mut expected = before.clone();
        let file = image(&before);
        let mut disk = Disk::open(file.path(), &ImageMode::Overlay).unwrap();
        for (sector, sectors, byte) in writes {
            let start = sector as usize * 512;
            let end = (start + sectors * 512).min(expected.len());
            expected[start..end].fill(byte);
            disk.write(start as u64, &vec![byte; end - start]).unwrap();
        }
        let mut after = vec![0; before.len()];
        disk.read(0, &mut after).unwrap();
        prop_assert_eq!(after, expected);
        prop_assert_eq!(std::fs::read(file.path()).unwrap(), before);
    }
}

#[test]
fn a_filled_disk_begins_with_its_content_and_ends_with_zeroes() {
    let content: std::sync::Arc<[u8]> = std::sync::Arc::from(&b"task"[..]);
    let mut disk = Disk::open(Path::new("task"), &ImageMode::Filled { bytes: 2048, content }).unwrap();
    assert_eq!(disk.sectors(), 4);
    let mut read = [1; 8];
    disk.read(0, &mut read).unwrap();
    assert_eq!(&read, b"task\0\0\0\0");
    disk.read(2040, &mut read).unwrap();
    assert_eq!(read, [0; 8]);
    disk.write(2040, b"theirs").unwrap();
}

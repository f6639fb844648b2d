use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A new folder that only this account can enter; removed with all that is in it.
pub struct TemporaryFolder {
    path: PathBuf,
}

impl TemporaryFolder {
    /// An error if there is one of that name: somebody else may have made it.
    pub fn new(name: &str) -> io::Result<Self> {
        let path = std::env::temp_dir().join(name);
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self { path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // What cannot be removed is left to the system, which empties the folder of temporary files.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn it_is_private_and_removed_and_never_that_of_another() {
        let name = format!("pgclinic-test-{}", std::process::id());
        let folder = TemporaryFolder::new(&name).unwrap();
        let path = folder.path().to_owned();
        std::fs::write(path.join("file"), b"").unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(
            TemporaryFolder::new(&name).err().map(|error| error.kind()),
            Some(io::ErrorKind::AlreadyExists)
        );
        drop(folder);
        assert!(!path.exists());
    }
}

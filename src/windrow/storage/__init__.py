"""Storage: folders of files on a local disk or on any file system of Hadoop's, and the lease that lets one driver write to one.

Takes paths and bytes; gives files that are whole and durable, or an error. Everything that must survive a crash is written here and
nowhere else. Knows nothing of jobs, batches or SQL.
"""

from windrow.storage.errors import StorageError
from windrow.storage.files import Files, NotForWorkers
from windrow.storage.filesystem import FileStatus, Folder, folder_name
from windrow.storage.local import LocalFolder
from windrow.storage.opening import is_local, may_be_for_workers, open_folder, qualified

__all__ = [
    "FileStatus",
    "Files",
    "Folder",
    "LocalFolder",
    "NotForWorkers",
    "StorageError",
    "folder_name",
    "is_local",
    "may_be_for_workers",
    "open_folder",
    "qualified",
]

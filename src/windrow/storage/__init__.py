"""Storage: folders of files on a local disk or on any file system of Hadoop's, and the lease that lets one driver write to one.

Takes paths and bytes; gives files that are whole and durable, or an error. Everything that must survive a crash is written here and
nowhere else. Knows nothing of jobs, batches or SQL.
"""

from windrow.storage.errors import StorageError
from windrow.storage.filesystem import FileStatus, Folder, folder_name
from windrow.storage.local import LocalFolder
from windrow.storage.opening import is_local, open_folder, qualified

__all__ = ["FileStatus", "Folder", "LocalFolder", "StorageError", "folder_name", "is_local", "open_folder", "qualified"]

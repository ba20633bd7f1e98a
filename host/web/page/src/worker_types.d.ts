/** Reads blobs at once; only workers have it (File API). */
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

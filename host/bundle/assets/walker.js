"use components";
export function instantiate(getCoreModule, imports, instantiateCore = WebAssembly.instantiate) {
  
  const emptyFunc = () => {};
  
  let dv = new DataView(new ArrayBuffer());
  const dataView = mem => dv.buffer === mem.buffer ? dv : dv = new DataView(mem.buffer);
  
  function toUint64(val) {
    const converted = BigInt(val)
    
    return BigInt.asUintN(64, converted);
  }
  
  
  function toUint16(val) {
    
    val >>>= 0;
    val %= 2 ** 16;
    return val;
  }
  
  
  function toUint32(val) {
    
    return val >>> 0;
  }
  
  
  function _isValidNumericPrimitive(ty, v) {
    if (v === undefined || v === null) { return false; }
    switch (ty) {
      case 'bool':
      return v === 0 || v === 1;
      break;
      case 'u8':
      return typeof v === 'number' && Number.isInteger(v) && v >= 0 && v <= 255;
      break;
      case 's8':
      return typeof v === 'number' && Number.isInteger(v) && v >= -128 && v <= 127;
      break;
      case 'u16':
      return typeof v === 'number' && Number.isInteger(v) && v >= 0 && v <= 65535;
      break;
      case 's16':
      return typeof v === 'number' && Number.isInteger(v) && v >= -32768 && v <= 32767;
      case 'u32':
      return typeof v === 'number' && Number.isInteger(v) && v >= 0 && v <= 4_294_967_295;
      case 's32':
      return typeof v === 'number' && Number.isInteger(v) && v >= -2_147_483_648 && v <= 2_147_483_647;
      case 'u64':
      return typeof v === 'bigint' && v >= 0 && v <= 18_446_744_073_709_551_615n;
      case 's64':
      return typeof v === 'bigint' && v >= -9223372036854775808n && v <= 9223372036854775807n;
      break;
      case 'f32':
      case 'f64': return typeof v === 'number';
      default:
      return false;
    }
    return true;
  }
  
  function _requireValidNumericPrimitive(ty, v) {
    if (v === undefined  || v === null || !_isValidNumericPrimitive(ty, v)) {
      throw new TypeError(`invalid ${ty} value [${v}]`);
    }
    return true;
  }
  const TEXT_DECODER_UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const TEXT_ENCODER_UTF8 = new TextEncoder();
  
  function _utf8AllocateAndEncode(s, realloc, memory) {
    if (typeof s !== 'string') {
      throw new TypeError('expected a string, received [' + typeof s + ']');
    }
    
    // Compute the exact allocation size up front. Some older preview1
    // adapters only support an initial allocation, not a subsequent shrink.
    let len = 0;
    let codepoints = 0;
    for (let i = 0; i < s.length; i++) {
      const ch = s.charCodeAt(i);
      codepoints++;
      if (ch < 0x80) { len += 1; }
      else if (ch < 0x800) { len += 2; }
      else if (ch >= 0xd800 && ch <= 0xdbff &&
      i + 1 < s.length &&
      (s.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
        len += 4;
        i++;
      } else { len += 3; }
    }
    const ptr = realloc(0, 0, 1, len);
    const { read, written } = TEXT_ENCODER_UTF8.encodeInto(
    s,
    new Uint8Array(memory.buffer, ptr, len),
    );
    if (read !== s.length || written !== len) {
      throw new Error('failed to encode whole string');
    }
    const res = { ptr, len, codepoints };
    return res;
  }
  
  const T_FLAG = 1 << 30;
  
  function rscTableCreateOwn(table, rep) {
    const free = table[0] & ~T_FLAG;
    table._createdReps.add(rep);
    if (free === 0) {
      table.push(0);
      table.push(rep | T_FLAG);
      return (table.length >> 1) - 1;
    }
    table[0] = table[free << 1];
    table[free << 1] = 0;
    table[(free << 1) + 1] = rep | T_FLAG;
    return free;
  }
  
  const RESOURCE_SCOPE_TASKS = new Map();
  const WebAssemblyRuntimeError = WebAssembly.RuntimeError;
  
  function rscTableRemove(table, handle) {
    const scope = table[handle << 1];
    const val = table[(handle << 1) + 1];
    const own = (val & T_FLAG) !== 0;
    const rep = val & ~T_FLAG;
    if (val === 0 || (scope & T_FLAG) !== 0) {
      // Resource entries occupy scope/rep pairs after the table sentinel.
      throw new WebAssemblyRuntimeError(`unknown handle index ${(handle << 1) + 1}`);
    }
    if (own && scope !== 0) {
      throw new WebAssemblyRuntimeError('cannot remove owned resource while borrowed');
    }
    const borrowTask = own ? undefined : RESOURCE_SCOPE_TASKS.get(scope);
    table[handle << 1] = table[0] | T_FLAG;
    table[0] = handle | T_FLAG;
    borrowTask?.removeBorrowedHandle();
    return { rep, scope, own };
  }
  
  let RESOURCE_SCOPE_ID = 0;
  const ASYNC_TASKS_BY_COMPONENT_IDX = new Map();
  const ASYNC_CURRENT_TASK_IDS = [];
  const ASYNC_CURRENT_COMPONENT_IDXS = [];
  
  const _debugLog = (...args) => {
    if (!globalThis?.process?.env?.JCO_DEBUG) { return; }
    console.debug(...args);
  };
  
  function clearCurrentTask(componentIdx, taskID) {
    _debugLog('[clearCurrentTask()] args', { componentIdx, taskID });
    
    if (componentIdx === undefined || componentIdx === null) {
      throw new Error('missing/invalid component instance index while ending current task');
    }
    
    const tasks = ASYNC_TASKS_BY_COMPONENT_IDX.get(componentIdx);
    if (!tasks || !Array.isArray(tasks)) {
      throw new Error('missing/invalid tasks for component instance while ending task');
    }
    if (tasks.length == 0) {
      throw new Error(`no current tasks for component instance [${componentIdx}] while ending task`);
    }
    
    if (taskID !== undefined) {
      const last = tasks[tasks.length - 1];
      if (last.id !== taskID) {
        // throw new Error('current task does not match expected task ID');
        return;
      }
    }
    
    ASYNC_CURRENT_TASK_IDS.pop();
    ASYNC_CURRENT_COMPONENT_IDXS.pop();
    
    const taskMeta = tasks.pop();
    return taskMeta.task;
  }
  const ASYNC_STATE = new Map();
  
  function promiseWithResolvers() {
    if (Promise.withResolvers) {
      return Promise.withResolvers();
    } else {
      let resolve;
      let reject;
      const promise = new Promise((res, rej) => {
        resolve = res;
        reject = rej;
      });
      return { promise, resolve, reject };
    }
  }
  
  class Waitable {
    #componentIdx;
    
    #pendingEventFn = null;
    
    #promise;
    #resolve;
    #reject;
    
    #waitableSet = null;
    
    #hasSyncWaiter = false;
    
    #idx = null; // to component-global waitables
    
    target;
    
    constructor(args) {
      const { componentIdx, target } = args;
      this.#componentIdx = componentIdx;
      this.target = args.target;
      this.#resetPromise();
    }
    
    componentIdx() { return this.#componentIdx; }
    isInSet() { return this.#waitableSet !== null; }
    
    idx() { return this.#idx; }
    setIdx(idx) {
      if (idx === 0) { throw new Error("waitable idx cannot be zero"); }
      this.#idx = idx;
    }
    
    setTarget(tgt) { this.target = tgt; }
    
    #resetPromise() {
      const { promise, resolve, reject } = promiseWithResolvers()
      this.#promise = promise;
      this.#resolve = resolve;
      this.#reject = reject;
    }
    
    resolve() { this.#resolve(); }
    reject(err) { this.#reject(err); }
    promise() { return this.#promise; }
    
    hasPendingEvent() {
      // _debugLog('[Waitable#hasPendingEvent()]', {
        //     componentIdx: this.#componentIdx,
        //     waitable: this,
        //     waitableSet: this.#waitableSet,
        //     hasPendingEvent: this.#pendingEventFn !== null,
        // });
        return this.#pendingEventFn !== null;
      }
      
      setPendingEvent(fn) {
        _debugLog('[Waitable#setPendingEvent()] args', {
          waitable: this,
          inSet: this.#waitableSet,
        });
        this.#pendingEventFn = fn;
      }
      
      getPendingEvent() {
        _debugLog('[Waitable#getPendingEvent()] args', {
          waitable: this,
          inSet: this.#waitableSet,
          hasPendingEvent: this.#pendingEventFn !== null,
        });
        if (this.#pendingEventFn === null) { return null; }
        const eventFn = this.#pendingEventFn;
        this.#pendingEventFn = null;
        const e = eventFn();
        this.#resetPromise();
        return e;
      }
      
      join(waitableSet) {
        _debugLog('[Waitable#join()] args', {
          waitable: this,
          waitableSet: waitableSet,
          isRemoval: waitableSet === null,
        });
        
        if (this.#waitableSet === undefined) {
          throw new TypeError('waitable set must be not be undefined');
        }
        
        if (this.#waitableSet) {
          this.#waitableSet.removeWaitable(this);
        }
        
        this.#waitableSet = waitableSet;
        
        if (waitableSet) {
          this.#waitableSet.addWaitable(this);
        }
      }
      
      drop() {
        _debugLog('[Waitable#drop()] args', {
          componentIdx: this.#componentIdx,
          waitable: this,
        });
        if (this.hasPendingEvent()) {
          throw new Error('waitables with pending events cannot be dropped');
        }
        this.join(null);
      }
      
      async waitForPendingEvent(args) {
        const { cstate } = args;
        if (!cstate) { throw new TypeError('missing component state'); }
        
        if (this.#waitableSet !== null || this.#hasSyncWaiter) {
          throw new Error("waitable is already in a set/has a sync waiter");
        }
        this.#hasSyncWaiter = true;
        await cstate.waitUntil({
          cancellable: false,
          readyFn: () => this.hasPendingEvent(),
        });
        this.#hasSyncWaiter = false;
      }
      
    }
    const INSTANCE_FLAGS = new Map();
    const STORE_TRAP = { error: null };
    const STORE_ASYNC_STATE = { deadlockCheck: null, pendingHostOperations: 0 };
    
    function _checkForDeadlock() {
      if (STORE_ASYNC_STATE.deadlockCheck !== null || STORE_TRAP.error !== null) { return; }
      STORE_ASYNC_STATE.deadlockCheck = setTimeout(() => {
        STORE_ASYNC_STATE.deadlockCheck = null;
        if (STORE_TRAP.error !== null || STORE_ASYNC_STATE.pendingHostOperations > 0) { return; }
        
        const suspendedTasks = new Set();
        for (const state of ASYNC_STATE.values()) {
          if (state.hasPendingSchedulerWork()) {
            state.runTickLoop();
            return;
          }
          for (const meta of state.suspendedTaskMetas()) {
            suspendedTasks.add(meta.task);
          }
        }
        
        const unresolvedRoots = new Set();
        for (const task of suspendedTasks) {
          const root = task.getRootTask();
          if (!root.isResolvedState()) { unresolvedRoots.add(root); }
        }
        if (unresolvedRoots.size === 0) { return; }
        
        const err = new WebAssemblyRuntimeError('wasm trap: deadlock detected: event loop cannot make further progress');
        // Which tasks were waiting, and on whose behalf. The message stays
        // exactly what the Canonical ABI calls for, so this rides alongside
        // it: a deadlock reported from a real program is otherwise a bare
        // sentence, and the state that produced it is gone by the time
        // anyone reads the failure.
        err.deadlockDetail = {
          pendingHostOperations: STORE_ASYNC_STATE.pendingHostOperations,
          suspendedTasks: [...suspendedTasks].map((task) => ({
            taskID: task.id(),
            componentIdx: task.componentIdx(),
            state: task.taskState(),
            rootTaskID: task.getRootTask().id(),
          })),
          unresolvedRootTaskIDs: [...unresolvedRoots].map((root) => root.id()),
        };
        STORE_TRAP.error = err;
        for (const root of unresolvedRoots) {
          root.setErrored(err);
          root.reject(err);
        }
        for (const task of suspendedTasks) {
          if (!task.isResolvedState() && unresolvedRoots.has(task.getRootTask())) {
            task.setErrored(err);
            task.reject(err);
          }
        }
        for (const state of ASYNC_STATE.values()) { state.runTickLoop(); }
      }, 0);
    }
    
    const CORE_TRAP_MESSAGES = new Map([
    ['unreachable', "wasm trap: wasm `unreachable` instruction executed"],
    ['memory access out of bounds', "wasm trap: out of bounds memory access"],
    ['divide by zero', "wasm trap: integer divide by zero"],
    ['remainder by zero', "wasm trap: integer divide by zero"],
    ['divide result unrepresentable', "wasm trap: integer overflow"],
    ['float unrepresentable in integer range', "wasm trap: invalid conversion to integer"],
    ['table index is out of bounds', "wasm trap: undefined element: out of bounds table access"],
    ['function signature mismatch', "wasm trap: indirect call type mismatch"],
    ['call stack exhausted', "wasm trap: call stack exhausted"],
    ]);
    function _normalizeCoreTrap(err) {
      if (!(err instanceof WebAssemblyRuntimeError)) { return err; }
      const message = CORE_TRAP_MESSAGES.get(err.message);
      if (message !== undefined) { err.message = message; }
      return err;
    }
    
    class RepTable {
      // Sentinel marking a freed slot; the freelist link for a freed slot
      // lives in the odd cell. This keeps get()/contains()/remove() on freed
      // reps well-defined (previously they returned/corrupted freelist links).
      static FREE = Symbol('RepTable.free');
      
      #data = [0, null];
      #size = 0;
      #target;
      
      constructor(args) {
        this.target = args?.target;
      }
      
      data() { return this.#data; }
      
      insert(val) {
        _debugLog('[RepTable#insert()] args', { val, target: this.target });
        const freeIdx = this.#data[0];
        if (freeIdx === 0) {
          this.#data.push(val);
          this.#data.push(null);
          const rep = (this.#data.length >> 1) - 1;
          _debugLog('[RepTable#insert()] inserted', { val, target: this.target, rep });
          this.#size += 1;
          return rep;
        }
        const placementIdx = freeIdx << 1;
        if (this.#data[placementIdx] !== RepTable.FREE) {
          throw new Error('corrupt rep table freelist: head does not point at a freed slot');
        }
        this.#data[0] = this.#data[placementIdx + 1];
        this.#data[placementIdx] = val;
        this.#data[placementIdx + 1] = null;
        _debugLog('[RepTable#insert()] inserted', { val, target: this.target, rep: freeIdx });
        this.#size += 1;
        return freeIdx;
      }
      
      get(rep) {
        _debugLog('[RepTable#get()] args', { rep, target: this.target });
        if (rep === 0) { throw new Error('invalid resource rep during get, (cannot be 0)'); }
        
        const baseIdx = rep << 1;
        const val = this.#data[baseIdx];
        if (val === RepTable.FREE) { return undefined; }
        return val;
      }
      
      contains(rep) {
        _debugLog('[RepTable#contains()] args', { rep, target: this.target });
        if (rep === 0) { throw new Error('invalid resource rep during contains, (cannot be 0)'); }
        
        const baseIdx = rep << 1;
        const val = this.#data[baseIdx];
        return val !== RepTable.FREE && !!val;
      }
      
      remove(rep) {
        _debugLog('[RepTable#remove()] args', { rep, target: this.target });
        if (rep === 0) { throw new Error('invalid resource rep during remove, (cannot be 0)'); }
        if (this.#data.length === 2) { throw new Error('invalid'); }
        
        const baseIdx = rep << 1;
        if (baseIdx >= this.#data.length) {
          throw new Error(`invalid rep [${rep}] during remove, out of range`);
        }
        const val = this.#data[baseIdx];
        if (val === RepTable.FREE) {
          throw new Error(`double removal of rep [${rep}] (already freed)`);
        }
        
        this.#data[baseIdx] = RepTable.FREE;
        this.#data[baseIdx + 1] = this.#data[0];
        this.#data[0] = rep;
        this.#size -= 1;
        
        return val;
      }
      
      size() { return this.#size; }
      
      clear() {
        _debugLog('[RepTable#clear()] args', { rep, target: this.target });
        this.#data = [0, null];
      }
    }
    
    class ComponentAsyncState {
      static EVENT_HANDLER_EVENTS = [ 'backpressure-change' ];
      
      static TickResult = {
        // no suspended tasks remain
        DONE: 'done',
        // a suspended task was resumed (more may be ready)
        RESUMED: 'resumed',
        // suspended tasks remain but none were ready
        IDLE: 'idle',
      };
      
      #componentIdx;
      #callingAsyncImport = false;
      #syncImportWait = promiseWithResolvers();
      #lockHolderTaskID = null;
      #lockWaiters = [];
      #lockHandoffScheduled = false;
      #pendingTaskStarts = 0;
      #parkedTasks = new Map();
      #suspendedTasksByTaskID = new Map();
      #suspendedTaskIDs = [];
      #errored = null;
      #trapped = false;
      #backpressure = 0;
      #backpressureWaiters = 0n;
      
      #handlerMap = new Map();
      #nextHandlerID = 0n;
      
      #tickLoop = null;
      #tickLoopInterval = null;
      
      #onExclusiveReleaseHandlers = [];
      
      #mayLeave = true;
      
      handles;
      subtasks;
      
      constructor(args) {
        this.#componentIdx = args.componentIdx;
        this.handles = new RepTable({ target: `component [${this.#componentIdx}] handles (waitable objects)` });
        this.subtasks = new RepTable({ target: `component [${this.#componentIdx}] subtasks` });
      };
      
      componentIdx() { return this.#componentIdx; }
      
      get mayLeave() {
        const flags = INSTANCE_FLAGS.get(this.#componentIdx);
        return flags === undefined ? this.#mayLeave : flags.value === 1;
      }
      set mayLeave(value) {
        if (typeof value !== 'boolean') { throw new TypeError('mayLeave must be a boolean'); }
        this.#mayLeave = value;
        const flags = INSTANCE_FLAGS.get(this.#componentIdx);
        if (flags !== undefined) { flags.value = value ? 1 : 0; }
      }
      
      errored() { return this.#errored !== null; }
      setErrored(err) {
        _debugLog('[ComponentAsyncState#setErrored()] component errored', { err, componentIdx: this.#componentIdx });
        if (this.#errored) { return; }
        if (!err) {
          err = new Error('error elswehere (see other component instance error)')
          err.componentIdx = this.#componentIdx;
        }
        this.#errored = err;
      }
      
      markTrapped(err) {
        if (!(err instanceof WebAssemblyRuntimeError)) {
          return false;
        }
        err = _normalizeCoreTrap(err);
        this.#trapped = true;
        _debugLog('[ComponentAsyncState#markTrapped()] component trapped', { err, componentIdx: this.#componentIdx });
        if (STORE_TRAP.error === null) { STORE_TRAP.error = err; }
        return true;
      }
      
      throwIfTrapped() {
        if (this.#trapped) {
          throw new WebAssemblyRuntimeError("wasm trap: cannot enter component instance");
        }
      }
      
      callingSyncImport(val) {
        if (val === undefined) { return this.#callingAsyncImport; }
        if (typeof val !== 'boolean') { throw new TypeError('invalid setting for async import'); }
        const prev = this.#callingAsyncImport;
        this.#callingAsyncImport = val;
        if (prev === true && this.#callingAsyncImport === false) {
          this.#notifySyncImportEnd();
        }
      }
      
      #notifySyncImportEnd() {
        const existing = this.#syncImportWait;
        this.#syncImportWait = promiseWithResolvers();
        existing.resolve();
      }
      
      async waitForSyncImportCallEnd() {
        await this.#syncImportWait.promise;
      }
      
      setBackpressure(v) {
        this.#backpressure = v;
        return this.#backpressure
      }
      getBackpressure() { return this.#backpressure; }
      
      incrementBackpressure() {
        const current = this.#backpressure;
        if (current < 0 || current > 2**16) {
          throw new Error(`invalid current backpressure value [${current}]`);
        }
        const newValue = this.getBackpressure() + 1;
        if (newValue >= 2**16) {
          throw new Error(`invalid new backpressure value [${newValue}], overflow`);
        }
        return this.setBackpressure(newValue);
      }
      
      decrementBackpressure() {
        const current = this.#backpressure;
        if (current < 0 || current > 2**16) {
          throw new Error(`invalid current backpressure value [${current}]`);
        }
        const newValue = Math.max(0, current - 1);
        if (newValue < 0) {
          throw new Error(`invalid new backpressure value [${newValue}], underflow`);
        }
        return this.setBackpressure(newValue);
      }
      hasBackpressure() { return this.#backpressure > 0; }
      
      waitForBackpressure() {
        let backpressureCleared = false;
        const cstate = this;
        cstate.addBackpressureWaiter();
        const handlerID = this.registerHandler({
          event: 'backpressure-change',
          fn: (bp) => {
            if (bp === 0) {
              cstate.removeHandler(handlerID);
              backpressureCleared = true;
            }
          }
        });
        return new Promise((resolve) => {
          const interval = setInterval(() => {
            if (backpressureCleared) { return; }
            clearInterval(interval);
            cstate.removeBackpressureWaiter();
            resolve(null);
          }, 0);
        });
      }
      
      registerHandler(args) {
        const { event, fn } = args;
        if (!event) { throw new Error("missing handler event"); }
        if (!fn) { throw new Error("missing handler fn"); }
        
        if (!ComponentAsyncState.EVENT_HANDLER_EVENTS.includes(event)) {
          throw new Error(`unrecognized event handler [${event}]`);
        }
        
        const handlerID = this.#nextHandlerID++;
        let handlers = this.#handlerMap.get(event);
        if (!handlers) {
          handlers = [];
          this.#handlerMap.set(event, handlers)
        }
        
        handlers.push({ id: handlerID, fn, event });
        return handlerID;
      }
      
      removeHandler(args) {
        const { event, handlerID } = args;
        const registeredHandlers = this.#handlerMap.get(event);
        if (!registeredHandlers) { return; }
        const found = registeredHandlers.find(h => h.id === handlerID);
        if (!found) { return; }
        this.#handlerMap.set(event, this.#handlerMap.get(event).filter(h => h.id !== handlerID));
      }
      
      getBackpressureWaiters() { return this.#backpressureWaiters; }
      addBackpressureWaiter() { this.#backpressureWaiters++; }
      removeBackpressureWaiter() {
        this.#backpressureWaiters--;
        if (this.#backpressureWaiters < 0) {
          throw new Error("unexepctedly negative number of backpressure waiters");
        }
      }
      
      // The per-slice mutual-exclusion lock for guest execution in this
      // component instance. Guest slices (callback invocations and
      // sync-lifted bodies) must be atomic per component even across the
      // JSPI suspensions jco introduces for host imports: wit-bindgen's
      // executors publish per-task state in single linear-memory cells
      // (the wasip3-task pointer, context-local storage discipline) that
      // an interleaved slice of the same component corrupts
      //
      // The lock is *owned*: acquisition records the holder task and
      // release is a no-op for anyone else, so a task exiting can no
      // longer drop a hold it does not own (blind acquire/release-any
      // was the previous discipline). Contended acquisition queues
      // FIFO; release hands the lock to the next waiter directly.
      isExclusivelyLocked() { return this.#lockHolderTaskID !== null; }
      exclusivelyLockedBy(taskID) { return this.#lockHolderTaskID === taskID; }
      
      exclusiveLock(taskID) {
        _debugLog('[ComponentAsyncState#exclusiveLock()]', {
          holder: this.#lockHolderTaskID,
          requester: taskID,
          componentIdx: this.#componentIdx,
        });
        if (taskID === undefined || taskID === null) {
          throw new Error('exclusive lock requires the acquiring task id');
        }
        if (this.#lockHolderTaskID !== null) {
          throw new Error(`component [${this.#componentIdx}] exclusive lock held by task [${this.#lockHolderTaskID}], requested by [${taskID}]`);
        }
        this.#lockHolderTaskID = taskID;
      }
      
      // Awaitable acquisition: takes the lock immediately when free,
      // otherwise queues FIFO behind the current holder and earlier
      // waiters. The resolved promise implies ownership.
      acquireExclusiveLock(taskID) {
        if (taskID === undefined || taskID === null) {
          throw new Error('exclusive lock requires the acquiring task id');
        }
        if (this.#lockHolderTaskID === null) {
          this.#lockHolderTaskID = taskID;
          _debugLog('[ComponentAsyncState#acquireExclusiveLock()] acquired', {
            holder: taskID,
            componentIdx: this.#componentIdx,
          });
          return;
        }
        if (this.#lockHolderTaskID === taskID) {
          throw new Error(`task [${taskID}] already holds the lock for component [${this.#componentIdx}]`);
        }
        _debugLog('[ComponentAsyncState#acquireExclusiveLock()] waiting', {
          holder: this.#lockHolderTaskID,
          requester: taskID,
          componentIdx: this.#componentIdx,
          queued: this.#lockWaiters.length,
        });
        return new Promise((resolve) => {
          this.#lockWaiters.push({ taskID, resolve });
        });
      }
      
      exclusiveRelease(taskID) {
        _debugLog('[ComponentAsyncState#exclusiveRelease()] args', {
          holder: this.#lockHolderTaskID,
          releaser: taskID,
          componentIdx: this.#componentIdx,
        });
        if (this.#lockHolderTaskID !== taskID) {
          // Ownerless releases were the historical behavior; a foreign
          // release now leaves the hold intact
          _debugLog('[ComponentAsyncState#exclusiveRelease()] ignoring foreign release', {
            holder: this.#lockHolderTaskID,
            releaser: taskID,
            componentIdx: this.#componentIdx,
          });
          return false;
        }
        
        // Make the release observable before handing the lock to the next
        // asynchronous guest slice.
        //
        // Release handlers may expose a lifted value whose consumer immediately
        // performs a synchronous call on the same component; that call must run
        // while the instance is genuinely unlocked, not via enterSync's
        // lock-free fallback code.
        this.#lockHolderTaskID = null;
        
        this.#onExclusiveReleaseHandlers = this.#onExclusiveReleaseHandlers.filter(v => !!v);
        for (const [idx, f] of this.#onExclusiveReleaseHandlers.entries()) {
          try {
            this.#onExclusiveReleaseHandlers[idx] = null;
            f();
          } catch (err) {
            _debugLog("error while executing handler for next exclusive release", err);
            throw err;
          }
        }
        this.#scheduleLockHandoff();
        return true;
      }
      
      #scheduleLockHandoff() {
        if (this.#lockHandoffScheduled || this.#lockWaiters.length === 0) { return; }
        this.#lockHandoffScheduled = true;
        queueMicrotask(() => {
          this.#lockHandoffScheduled = false;
          // A synchronous call triggered by a release handler gets the
          // first opportunity to use the unlocked component.
          //
          // Its release will leave this queued handoff in place.
          if (this.#lockHolderTaskID !== null) {
            this.#scheduleLockHandoff();
            return;
          }
          const next = this.#lockWaiters.shift();
          if (!next) { return; }
          this.#lockHolderTaskID = next.taskID;
          next.resolve();
        });
      }
      
      onNextExclusiveRelease(fn) {
        _debugLog('[ComponentAsyncState#()onNextExclusiveRelease] registering');
        this.#onExclusiveReleaseHandlers.push(fn);
      }
      
      async waitForExclusiveRelease() {
        while (this.isExclusivelyLocked()) {
          await new Promise(resolve => this.onNextExclusiveRelease(resolve));
        }
      }
      
      #getSuspendedTaskMeta(taskID) {
        return this.#suspendedTasksByTaskID.get(taskID);
      }
      
      #removeSuspendedTaskMeta(taskID) {
        _debugLog('[ComponentAsyncState#removeSuspendedTaskMeta()] removing suspended task', {
          taskID,
          componentIdx: this.#componentIdx,
        });
        const idx = this.#suspendedTaskIDs.findIndex(t => t === taskID);
        const meta = this.#suspendedTasksByTaskID.get(taskID);
        this.#suspendedTaskIDs[idx] = null;
        this.#suspendedTasksByTaskID.delete(taskID);
        return meta;
      }
      
      #addSuspendedTaskMeta(meta) {
        if (!meta) { throw new Error('missing task meta'); }
        const taskID = meta.taskID;
        this.#suspendedTasksByTaskID.set(taskID, meta);
        this.#suspendedTaskIDs.push(taskID);
        if (this.#suspendedTasksByTaskID.size < this.#suspendedTaskIDs.length - 10) {
          this.#suspendedTaskIDs = this.#suspendedTaskIDs.filter(t => t !== null);
        }
      }
      
      // TODO(threads): readyFn is normally on the thread
      suspendTask(args) {
        const { task, readyFn, cancellable, onResume } = args;
        const taskID = task.id();
        const componentIdx = task.componentIdx();
        _debugLog('[ComponentAsyncState#suspendTask()]', {
          taskID,
          componentIdx: this.#componentIdx,
          taskEntryFnName: task.entryFnName(),
          subtask: task.getParentSubtask(),
        });
        
        if (componentIdx !== this.#componentIdx) {
          throw new Error('assert: task component idx should match async state');
        }
        
        if (this.#getSuspendedTaskMeta(taskID)) {
          throw new Error(`task [${taskID}] already suspended`);
        }
        
        let promise;
        let resume;
        if (onResume) {
          resume = () => onResume(!task.isCancelled());
        } else {
          const resolvers = promiseWithResolvers();
          promise = resolvers.promise;
          resume = () => resolvers.resolve(!task.isCancelled());
        }
        this.#addSuspendedTaskMeta({
          task,
          taskID,
          cancellable,
          readyFn,
          resume: () => {
            _debugLog('[ComponentAsyncState] resuming suspended task', {
              taskID,
              componentIdx: this.#componentIdx,
            });
            // TODO(threads): it's thread cancellation we should be checking for below, not task
            resume();
          },
        });
        
        // A caller synchronously driving one task quantum (for
        // example, subtask.cancel) waits for the resumed task to
        // either resolve or suspend again.
        task.notifyProgress();
        
        this.runTickLoop();
        _checkForDeadlock();
        
        return promise;
      }
      
      resumeTaskByID(taskID) {
        const meta = this.#removeSuspendedTaskMeta(taskID);
        if (!meta) { return false; }
        if (meta.taskID !== taskID) { throw new Error('task ID does not match'); }
        meta.resume();
        return true;
      }
      
      suspendedTaskReady(taskID) {
        const meta = this.#getSuspendedTaskMeta(taskID);
        if (!meta) { return false; }
        if (!meta.readyFn) {
          throw new Error(`suspended task [${taskID}] is missing a readiness function`);
        }
        return meta.task.isRejected() || meta.readyFn();
      }
      
      suspendedTaskCancellable(taskID) {
        return !!this.#getSuspendedTaskMeta(taskID)?.cancellable;
      }
      
      isTaskSuspended(taskID) {
        return this.#suspendedTasksByTaskID.has(taskID);
      }
      
      suspendedTaskMetas() {
        return this.#suspendedTasksByTaskID.values();
      }
      
      addPendingTaskStart() { this.#pendingTaskStarts++; }
      removePendingTaskStart() { this.#pendingTaskStarts--; }
      
      hasPendingSchedulerWork() {
        if (this.#pendingTaskStarts > 0) { return true; }
        if (this.#lockHandoffScheduled) { return true; }
        for (const meta of this.#suspendedTasksByTaskID.values()) {
          if (meta.task.isRejected() || meta.readyFn()) { return true; }
        }
        return false;
      }
      
      async runTickLoop() {
        if (this.#tickLoop !== null) { return; }
        this.#tickLoop = 1;
        setTimeout(async () => {
          let result = this.tick();
          while (result !== ComponentAsyncState.TickResult.DONE) {
            if (result === ComponentAsyncState.TickResult.IDLE) {
              _checkForDeadlock();
            }
            // After resuming a task, re-tick as soon as the resumed
            // slice's microtask continuations have drained (timeout 0)
            // so queued sibling resumptions aren't charged the idle
            // polling interval; otherwise poll at the idle cadence.
            const delay = result === ComponentAsyncState.TickResult.RESUMED ? 0 : 10;
            await new Promise((resolve) => setTimeout(resolve, delay));
            result = this.tick();
          }
          this.#tickLoop = null;
        }, 10);
      }
      
      tick() {
        // _debugLog('[ComponentAsyncState#tick()]', { suspendedTaskIDs: this.#suspendedTaskIDs });
        
        const resumableTasks = this.#suspendedTaskIDs.filter(t => t !== null);
        for (const taskID of resumableTasks) {
          const meta = this.#suspendedTasksByTaskID.get(taskID);
          if (!meta || !meta.readyFn) {
            throw new Error(`missing/invalid task despite ID [${taskID}] being present`);
          }
          
          // If the task failed via any means, allow the task to resume because
          // it's been cancelled -- the callback should immediately exit as well
          if (meta.task.isRejected()) {
            _debugLog('[ComponentAsyncState#tick()] detected task rejection, leaving early', { meta });
            this.resumeTaskByID(taskID);
            return ComponentAsyncState.TickResult.RESUMED;
          }
          
          const isReady = meta.readyFn();
          if (!isReady) { continue; }
          
          _debugLog('[ComponentAsyncState#tick()] resuming task via tick', {
            taskID,
            componentIdx: this.#componentIdx,
          });
          this.resumeTaskByID(taskID);
          
          // NOTE: during single-flight resumption, we should resume at most one task per
          // tick so that the resumed slice (a microtask continuation)
          // runs -- and its current-task register window opens and
          // closes -- before any sibling task of this component is
          // resumed.
          //
          // Resuming multiple suspended tasks in one synchronous
          // cascade interleaves their register save/restore windows
          // ([restoreA, restoreB, resumeA, resumeB]), re-entering wasm
          // with the register naming the wrong task, and the
          // 'known residual' of the JSPI current-task register
          // fix); with concurrent task lifetimes per component this
          // corrupts guest context-local storage.
          return ComponentAsyncState.TickResult.RESUMED;
        }
        
        const idle = this.#suspendedTaskIDs.filter(t => t !== null).length > 0;
        return idle
        ? ComponentAsyncState.TickResult.IDLE
        : ComponentAsyncState.TickResult.DONE;
      }
      
      createWaitable(args) {
        return new Waitable({ target: args?.target, });
      }
    }
    
    function getOrCreateAsyncState(componentIdx, init) {
      if (!ASYNC_STATE.has(componentIdx)) {
        const newState = new ComponentAsyncState({ componentIdx });
        ASYNC_STATE.set(componentIdx, newState);
      }
      return ASYNC_STATE.get(componentIdx);
    }
    const GLOBAL_COMPONENT_MEMORY_MAP = new Map();
    
    function lookupMemoriesForComponent(args) {
      const { componentIdx } = args ?? {};
      if (args.componentIdx === undefined) { throw new TypeError("missing component idx"); }
      
      const metas = GLOBAL_COMPONENT_MEMORY_MAP.get(componentIdx);
      if (!metas) { return []; }
      
      if (args.memoryIdx === undefined) {
        return Object.values(metas);
      }
      
      const meta = metas[args.memoryIdx];
      return meta?.memory;
    }
    
    class AsyncSubtask {
      static _ID = 0n;
      
      static State = {
        STARTING: 0,
        STARTED: 1,
        RETURNED: 2,
        CANCELLED_BEFORE_STARTED: 3,
        CANCELLED_BEFORE_RETURNED: 4,
      };
      
      #id;
      #state = AsyncSubtask.State.STARTING;
      #componentIdx;
      
      #parentTask;
      #childTask = null;
      
      #dropped = false;
      #cancelRequested = false;
      
      #memoryIdx = null;
      #lenders = null;
      
      #waitable = null;
      
      #callbackFn = null;
      #callbackFnName = null;
      
      #postReturnFn = null;
      #onProgressFn = null;
      #pendingEventFn = null;
      
      #callMetadata = {};
      
      #resolved = false;
      
      #onResolveHandlers = [];
      #onStartHandlers = [];
      
      #result = null;
      #resultSet = false;
      
      fnName;
      target;
      isAsync;
      isManualAsync;
      // One execution slice awaited by the conditional cancel trampoline.
      cancelProgress = null;
      
      constructor(args) {
        if (typeof args.componentIdx !== 'number') {
          throw new Error('invalid componentIdx for subtask creation');
        }
        this.#componentIdx = args.componentIdx;
        
        this.#id = ++AsyncSubtask._ID;
        this.fnName = args.fnName;
        
        if (!args.parentTask) { throw new Error('missing parent task during subtask creation'); }
        this.#parentTask = args.parentTask;
        
        if (args.childTask) { this.#childTask = args.childTask; }
        
        if (args.memoryIdx) { this.#memoryIdx = args.memoryIdx; }
        
        if (!args.waitable) { throw new Error("missing/invalid waitable"); }
        this.#waitable = args.waitable;
        
        if (args.callMetadata) { this.#callMetadata = args.callMetadata; }
        
        this.#lenders = [];
        this.target = args.target;
        this.isAsync = args.isAsync;
        this.isManualAsync = args.isManualAsync;
      }
      
      id() { return this.#id; }
      parentTaskID() { return this.#parentTask?.id(); }
      childTaskID() { return this.#childTask?.id(); }
      state() { return this.#state; }
      
      waitable() { return this.#waitable; }
      waitableRep() { return this.#waitable.idx(); }
      
      join() { return this.#waitable.join(...arguments); }
      getPendingEvent() { return this.#waitable.getPendingEvent(...arguments); }
      hasPendingEvent() { return this.#waitable.hasPendingEvent(...arguments); }
      setPendingEvent() { return this.#waitable.setPendingEvent(...arguments); }
      
      setTarget(tgt) { this.target = tgt; }
      
      getResult() {
        if (!this.#resultSet) { throw new Error("subtask result has not been set") }
        return this.#result;
      }
      setResult(v) {
        if (this.#resultSet) { throw new Error("subtask result has already been set"); }
        this.#result = v;
        this.#resultSet = true;
      }
      
      componentIdx() { return this.#componentIdx; }
      
      setChildTask(t) {
        if (!t) { throw new Error('cannot set missing/invalid child task on subtask'); }
        if (this.#childTask) { throw new Error('child task is already set on subtask'); }
        if (this.#parentTask === t) { throw new Error("parent cannot be child"); }
        this.#childTask = t;
      }
      getChildTask(t) { return this.#childTask; }
      
      getParentTask() { return this.#parentTask; }
      
      setCallbackFn(f, name) {
        if (!f) { return; }
        if (this.#callbackFn) { throw new Error('callback fn can only be set once'); }
        this.#callbackFn = f;
        this.#callbackFnName = name;
      }
      
      getCallbackFnName() {
        if (!this.#callbackFn) { return undefined; }
        return this.#callbackFn.name;
      }
      
      setPostReturnFn(f) {
        if (!f) { return; }
        if (this.#postReturnFn) { throw new Error('postReturn fn can only be set once'); }
        this.#postReturnFn = f;
      }
      
      setOnProgressFn(f) {
        if (this.#onProgressFn) { throw new Error('on progress fn can only be set once'); }
        this.#onProgressFn = f;
      }
      
      isNotStarted() {
        return this.#state == AsyncSubtask.State.STARTING;
      }
      
      cancellationRequested() { return this.#cancelRequested; }
      
      // Request cooperative cancellation of this subtask, on behalf of the
      // supertask (i.e. `canon subtask.cancel`).
      //
      // If the callee is another guest task, the request is delivered to it and
      // the callee confirms via `task.cancel` (or still resolves via `task.return`).
      //
      // If the callee is a host function there is (currently) no host-side
      // cancellation hook, so the pending call is treated as immediately
      // cancelled -- consistent with hosts being expected to resolve
      // cancellation promptly -- and any later host resolution is discarded
      // (see `AsyncTask#onResolve`).
      requestCancellation() {
        _debugLog('[AsyncSubtask#requestCancellation()] args', {
          componentIdx: this.#componentIdx,
          subtaskID: this.#id,
          state: this.#state,
          childTaskID: this.childTaskID(),
          fnName: this.fnName,
        });
        if (this.#cancelRequested) {
          throw new Error('cancellation has already been requested for this subtask');
        }
        this.#cancelRequested = true;
        
        if (this.#resolved) { return; }
        
        if (this.#childTask) {
          this.#childTask.requestCancellation();
          return;
        }
        
        this.onResolve(null);
      }
      
      registerOnStartHandler(f) {
        this.#onStartHandlers.push(f);
      }
      
      onStart(args) {
        _debugLog('[AsyncSubtask#onStart()] args', {
          componentIdx: this.#componentIdx,
          subtaskID: this.#id,
          parentTaskID: this.parentTaskID(),
          fnName: this.fnName,
          args,
        });
        
        if (this.#onProgressFn) { this.#onProgressFn(); }
        
        // Starting a nested operation is a task execution boundary.
        // In particular, a cancellation handler may synchronously
        // enter an import which then suspends in the host.  Wake a
        // supertask that is driving one cancellation slice so an
        // async `subtask.cancel` can report BLOCKED without waiting
        // for that nested operation to finish.
        this.#parentTask.notifyProgress();
        
        this.#state = AsyncSubtask.State.STARTED;
        
        let result;
        
        // If we have been provided a helper start function as a result of
        // component fusion performed by wasmtime tooling, then we can call that helper and lifts/lowers will
        // be performed for us.
        //
        // See also documentation on `HostIntrinsic::PrepareCall`
        //
        if (this.#callMetadata.startFn) {
          result = this.#callMetadata.startFn.apply(null, args?.startFnParams ?? []);
        }
        
        return result;
      }
      
      
      registerOnResolveHandler(f) {
        this.#onResolveHandlers.push(f);
      }
      
      reject(subtaskErr) {
        if (this.#resolved) { return; }
        
        if (this.#onProgressFn) { this.#onProgressFn(); }
        
        if (this.#state === AsyncSubtask.State.STARTING) {
          this.#state = AsyncSubtask.State.CANCELLED_BEFORE_STARTED;
        } else if (this.#state === AsyncSubtask.State.STARTED) {
          this.#state = AsyncSubtask.State.CANCELLED_BEFORE_RETURNED;
        } else {
          throw new Error('cannot reject a completed subtask');
        }
        
        this.#resolved = true;
        this.#parentTask.removeSubtask(this);
        this.#parentTask.reject(subtaskErr);
      }
      
      onResolve(subtaskValue) {
        _debugLog('[AsyncSubtask#onResolve()] args', {
          componentIdx: this.#componentIdx,
          subtaskID: this.#id,
          isAsync: this.isAsync,
          childTaskID: this.childTaskID(),
          parentTaskID: this.parentTaskID(),
          parentTaskFnName: this.#parentTask?.entryFnName(),
          fnName: this.fnName,
        });
        
        if (this.#resolved) {
          throw new Error('subtask has already been resolved');
        }
        
        if (this.#onProgressFn) { this.#onProgressFn(); }
        
        if (subtaskValue === null && this.#cancelRequested) {
          if (this.#state === AsyncSubtask.State.STARTING) {
            this.#state = AsyncSubtask.State.CANCELLED_BEFORE_STARTED;
          } else {
            if (this.#state !== AsyncSubtask.State.STARTED) {
              throw new Error('resolved subtask must have been started before cancellation');
            }
            this.#state = AsyncSubtask.State.CANCELLED_BEFORE_RETURNED;
          }
        } else {
          if (this.#state !== AsyncSubtask.State.STARTED) {
            throw new Error('resolved subtask must have been started before completion');
          }
          this.#state = AsyncSubtask.State.RETURNED;
        }
        
        this.setResult(subtaskValue);
        
        for (const f of this.#onResolveHandlers) {
          try {
            f(subtaskValue);
          } catch (err) {
            console.error("error during subtask resolve handler", err);
            throw err;
          }
        }
        
        const callMetadata = this.getCallMetadata();
        
        // TODO(fix): we should be able to easily have the caller's meomry
        // to lower into here, but it's not present in PrepareCall
        const memory = callMetadata.memory ?? this.#parentTask?.getReturnMemory() ?? lookupMemoriesForComponent({ componentIdx: this.#parentTask?.componentIdx() })[0];
        // NOTE: cancelled resolutions carry no value, so nothing is lowered
        const returned = this.#state === AsyncSubtask.State.RETURNED;
        if (returned && callMetadata && !callMetadata.returnFn && (this.isAsync || callMetadata.funcTypeIsAsync) && callMetadata.resultPtr && memory) {
          const { resultPtr, realloc } = callMetadata;
          const lowers = callMetadata.lowers; // may have been updated in task.return of the child
          if (lowers && lowers.length > 0) {
            lowers[0]({
              componentIdx: this.#componentIdx,
              memory,
              realloc,
              vals: [subtaskValue],
              storagePtr: resultPtr,
              stringEncoding: callMetadata.stringEncoding,
            });
          }
        }
        
        this.#resolved = true;
        this.#parentTask.removeSubtask(this);
        
        if (!this.isAsync) {
          this.deliverResolve();
          const rep = this.waitableRep();
          if (rep) {
            try {
              const removed = this.#getComponentState().handles.remove(rep);
              if (removed !== this) {
                throw new Error("unexpectedly received non-self Subtask from handle removal");
              }
              this.drop();
            } catch (err) {
              _debugLog('[AsyncSubtask#onResolve()] failed to remove subtask after sync subtask completion', err);
            }
          }
        }
      }
      
      getStateNumber() { return this.#state; }
      isReturned() { return this.#state === AsyncSubtask.State.RETURNED; }
      
      getCallMetadata() { return this.#callMetadata; }
      
      isResolved() {
        if (this.#state === AsyncSubtask.State.STARTING
        || this.#state === AsyncSubtask.State.STARTED) {
          return false;
        }
        if (this.#state === AsyncSubtask.State.RETURNED
        || this.#state === AsyncSubtask.State.CANCELLED_BEFORE_STARTED
        || this.#state === AsyncSubtask.State.CANCELLED_BEFORE_RETURNED) {
          return true;
        }
        throw new Error('unrecognized internal Subtask state [' + this.#state + ']');
      }
      
      addLender(handle) {
        _debugLog('[AsyncSubtask#addLender()] args', { handle });
        if (!Number.isNumber(handle)) { throw new Error('missing/invalid lender handle [' + handle + ']'); }
        
        if (this.#lenders.length === 0 || this.isResolved()) {
          throw new Error('subtask has no lendors or has already been resolved');
        }
        
        handle.lends++;
        this.#lenders.push(handle);
      }
      
      deliverResolve() {
        _debugLog('[AsyncSubtask#deliverResolve()] args', {
          lenders: this.#lenders,
          parentTaskID: this.parentTaskID(),
          subtaskID: this.#id,
          childTaskID: this.childTaskID(),
          resolved: this.isResolved(),
          resolveDelivered: this.resolveDelivered(),
        });
        
        const cannotDeliverResolve = this.resolveDelivered() || !this.isResolved();
        if (cannotDeliverResolve) {
          throw new Error('subtask cannot deliver resolution twice, and the subtask must be resolved');
        }
        
        for (const lender of this.#lenders) {
          lender.lends--;
        }
        
        this.#lenders = null;
      }
      
      resolveDelivered() {
        _debugLog('[AsyncSubtask#resolveDelivered()] args', { });
        if (this.#lenders === null && !this.isResolved()) {
          throw new Error('invalid subtask state, lenders missing and subtask has not been resolved');
        }
        return this.#lenders === null;
      }
      
      drop() {
        _debugLog('[AsyncSubtask#drop()] args', {
          componentIdx: this.#componentIdx,
          parentTaskID: this.#parentTask?.id(),
          parentTaskFnName: this.#parentTask?.entryFnName(),
          childTaskID: this.#childTask?.id(),
          childTaskFnName: this.#childTask?.entryFnName(),
          subtaskFnName: this.fnName,
        });
        if (!this.#waitable) { throw new Error('missing/invalid inner waitable'); }
        if (!this.resolveDelivered()) {
          throw new Error('cannot drop a subtask which has not yet resolved');
        }
        if (this.#waitable) { this.#waitable.drop() }
        this.#dropped = true;
      }
      
      #getComponentState() {
        const state = getOrCreateAsyncState(this.#componentIdx);
        if (!state) {
          throw new Error('invalid/missing async state for component [' + componentIdx + ']');
        }
        return state;
      }
      
      getWaitableHandleIdx() {
        _debugLog('[AsyncSubtask#getWaitableHandleIdx()] args', { });
        if (!this.#waitable) { throw new Error('missing/invalid waitable'); }
        return this.waitableRep();
      }
    }
    
    class FutureValue {
      #start;
      #settled;
      #hideThen = 0;
      #thenFn;
      
      constructor(start) {
        if (typeof start !== 'function') {
          throw new TypeError('future start operation must be a function');
        }
        this.#start = start;
        this.#thenFn = this.#then.bind(this);
      }
      
      get then() {
        return this.#hideThen === 0 ? this.#thenFn : undefined;
      }
      
      #read() {
        if (!this.#settled) {
          // The start operation resolves to a non-thenable box so a
          // future-valued payload cannot be assimilated by this Promise.
          this.#settled = Promise.resolve().then(this.#start);
        }
        return this.#settled;
      }
      
      resolveAsValue(resolve) {
        this.#hideThen++;
        try {
          resolve(this);
        } finally {
          this.#hideThen--;
        }
      }
      
      #deliver(resolve, value) {
        if (value instanceof FutureValue) {
          // Promise resolution reads `then` synchronously. Hide it only
          // for that lookup so resolving this layer yields the inner
          // FutureValue instead of recursively awaiting it.
          value.resolveAsValue(resolve);
          return;
        }
        resolve(value);
      }
      
      #then(resolve, reject) {
        return this.#read().then(
        box => this.#deliver(resolve, box.value),
        reject,
        );
      }
    }
    const ASYNC_DETERMINISM = 'random';
    const _coinFlip = () => { return Math.random() > 0.5; };
    
    const ASYNC_EVENT_CODE = {
      NONE: 0,
      SUBTASK: 1,
      STREAM_READ: 2,
      STREAM_WRITE: 3,
      FUTURE_READ: 4,
      FUTURE_WRITE: 5,
      TASK_CANCELLED: 6,
    };
    const CURRENT_TASK_META = {};
    
    function _withGlobalCurrentTaskMeta(args) {
      _debugLog('[_withGlobalCurrentTaskMeta()] args', args);
      if (!args) { throw new TypeError('args missing'); }
      if (args.taskID === undefined) { throw new TypeError('missing task ID'); }
      if (args.componentIdx === undefined) { throw new TypeError('missing component idx'); }
      if (!args.fn) { throw new TypeError('missing fn'); }
      const { taskID, componentIdx, fn } = args;
      const previous = CURRENT_TASK_META[componentIdx] ?? null;
      const previousCurrent = CURRENT_TASK_META.current ?? null;
      
      try {
        CURRENT_TASK_META.current =
        CURRENT_TASK_META[componentIdx] = { taskID, componentIdx };
        return fn();
      } catch (err) {
        _debugLog("error while executing sync callee/callback", {
          ...args,
          err,
        });
        throw err;
      } finally {
        // Synchronous wrappers can nest without any intervening JS
        // scheduling. Restore the caller rather than clearing it so
        // helper core exports (for example fused return adapters) can
        // temporarily run under a different task of the same component.
        CURRENT_TASK_META[componentIdx] = previous;
        CURRENT_TASK_META.current = previousCurrent;
      }
    }
    
    async function _withGlobalCurrentTaskMetaAsync(args) {
      _debugLog('[_withGlobalCurrentTaskMetaAsync()] args', args);
      if (!args) { throw new TypeError('args missing'); }
      if (args.taskID === undefined) { throw new TypeError('missing task ID'); }
      if (args.componentIdx === undefined) { throw new TypeError('missing component idx'); }
      if (!args.fn) { throw new TypeError('missing fn'); }
      
      const { taskID, componentIdx, fn } = args;
      
      try {
        CURRENT_TASK_META.current =
        CURRENT_TASK_META[componentIdx] = { taskID, componentIdx };
        return await fn();
      } catch (err) {
        _debugLog("error while executing async callee/callback", {
          ...args,
          err,
        });
        throw err;
      } finally {
        CURRENT_TASK_META[componentIdx] = null;
        if (CURRENT_TASK_META.current?.taskID === taskID) {
          CURRENT_TASK_META.current = null;
        }
      }
    }
    
    class AsyncTask {
      static _ID = 0n;
      
      static State = {
        INITIAL: 'initial',
        CANCELLED: 'cancelled',
        CANCEL_PENDING: 'cancel-pending',
        CANCEL_DELIVERED: 'cancel-delivered',
        RESOLVED: 'resolved',
      }
      
      static BlockResult = {
        CANCELLED: 'block.cancelled',
        NOT_CANCELLED: 'block.not-cancelled',
      }
      
      #id;
      #componentIdx;
      #state;
      #isAsync;
      #isManualAsync;
      #callingWasmExport = true;
      #lockFreeEntry = false;
      #preserveFutureResult;
      #entryFnName = null;
      
      #onResolveHandlers = [];
      #progressWaiters = [];
      #completionPromise = null;
      #completionValue;
      #completionReady = false;
      #settleCompletionPromise;
      #rejected = false;
      
      #exitPromise = null;
      #onExitHandlers = [];
      
      #memoryIdx = null;
      #memory = null;
      
      #callbackFn = null;
      #callbackFnName = null;
      
      #postReturnFn = null;
      
      #getCalleeParamsFn = null;
      #calleeIsAsync = null;
      
      #stringEncoding = null;
      
      #parentSubtask = null;
      
      #errHandling;
      
      #backpressurePromise;
      #backpressureWaiters = 0n;
      
      #returnLowerFns = null;
      
      #resourceScopeId;
      #resourceBorrowCount = 0;
      #resourceLenders = [];
      #resourceScopeExited = false;
      
      #subtasks = [];
      
      #entered = false;
      #exited = false;
      #errored = null;
      
      cancelled = false;
      cancelRequested = false;
      alwaysTaskReturn = false;
      
      returnCalls =  0;
      storage = [0, 0];
      tmpRetI64HighBits = 0|0;
      
      constructor(opts) {
        this.#id = ++AsyncTask._ID;
        this.#resourceScopeId = ++RESOURCE_SCOPE_ID;
        RESOURCE_SCOPE_TASKS.set(this.#resourceScopeId, this);
        
        if (opts?.componentIdx === undefined) {
          throw new TypeError('missing component id during task creation');
        }
        this.#componentIdx = opts.componentIdx;
        
        this.#state = AsyncTask.State.INITIAL;
        this.#isAsync = opts?.isAsync ?? false;
        this.#isManualAsync = opts?.isManualAsync ?? false;
        this.#preserveFutureResult = opts?.preserveFutureResult ?? false;
        this.#entryFnName = opts.entryFnName;
        // Tasks that execute guest slices (export calls, fused
        // callees) default to true; import-handler tasks pass false
        // explicitly (they run host code nested inside the caller's
        // already-locked slice).
        this.#callingWasmExport = opts?.callingWasmExport !== false;
        
        const {
          promise: completionPromise,
          resolve: resolveCompletionPromise,
          reject: rejectCompletionPromise,
        } = promiseWithResolvers();
        this.#completionPromise = completionPromise;
        // A nested rejection can reach the root task while its Wasm
        // entrypoint is still suspended, before the export wrapper awaits
        // this promise. Mark it handled immediately while preserving the
        // original rejected promise for the eventual caller.
        completionPromise.catch(() => {});
        
        let completionSettled = false;
        const settleCompletionPromise = () => {
          if (completionSettled || !this.#completionReady) { return; }
          completionSettled = true;
          if (this.#errored !== null) {
            rejectCompletionPromise(this.#errored);
          } else if (this.#rejected) {
            rejectCompletionPromise(this.#completionValue);
          } else if (
          this.#preserveFutureResult
          && this.#completionValue instanceof FutureValue
          ) {
            this.#completionValue.resolveAsValue(resolveCompletionPromise);
          } else {
            resolveCompletionPromise(this.#completionValue);
          }
        };
        
        this.#settleCompletionPromise = settleCompletionPromise;
        this.#onResolveHandlers.push((results) => {
          if (this.#parentSubtask !== null) { return; }
          if (!this.#isAsync && !this.#isManualAsync) { return; }
          this.#completionValue = results;
          this.#completionReady = true;
          // Publish after the current guest slice returns, so a trap
          // in that slice can still reject the call. Do not wait for
          // task exit: detached work may require further host calls
          // or consumption of a returned resource's stream.
        });
        
        const {
          promise: exitPromise,
          resolve: resolveExitPromise,
          reject: rejectExitPromise,
        } = promiseWithResolvers();
        this.#exitPromise = exitPromise;
        
        this.#onExitHandlers.push(() => {
          if (this.#parentSubtask === null && (this.#isAsync || this.#isManualAsync)) {
            settleCompletionPromise();
          }
          resolveExitPromise();
        });
        
        if (opts.callbackFn) { this.#callbackFn = opts.callbackFn; }
        if (opts.callbackFnName) { this.#callbackFnName = opts.callbackFnName; }
        
        if (opts.getCalleeParamsFn) { this.#getCalleeParamsFn = opts.getCalleeParamsFn; }
        if (opts.stringEncoding) { this.#stringEncoding = opts.stringEncoding; }
        
        if (opts.parentSubtask) { this.#parentSubtask = opts.parentSubtask; }
        
        
        if (opts.errHandling) { this.#errHandling = opts.errHandling; }
      }
      
      taskState() { return this.#state; }
      id() { return this.#id; }
      componentIdx() { return this.#componentIdx; }
      entryFnName() { return this.#entryFnName; }
      
      resourceScopeId() { return this.#resourceScopeId; }
      
      addBorrowedHandle() {
        if (this.#resourceScopeExited) {
          throw new Error('cannot add a borrow to an exited resource scope');
        }
        this.#resourceBorrowCount++;
      }
      
      removeBorrowedHandle() {
        if (this.#resourceBorrowCount === 0) {
          throw new Error('resource borrow count underflow');
        }
        this.#resourceBorrowCount--;
      }
      
      addResourceLender(table, handle) {
        if (this.#resourceScopeExited) {
          throw new Error('cannot add a lender to an exited resource scope');
        }
        this.#resourceLenders.push({ table, handle });
      }
      
      validateResourceBorrowScope() {
        if (this.#resourceScopeExited) { return; }
        if (this.#resourceBorrowCount !== 0) {
          throw new WebAssemblyRuntimeError('borrow handles still remain at the end of the call');
        }
        for (const { table, handle } of this.#resourceLenders) {
          const idx = handle << 1;
          const lendCount = table[idx];
          if (!Number.isInteger(lendCount) || lendCount <= 0 || lendCount >= 2**30) {
            throw new Error('invalid resource lender state at scope exit');
          }
          table[idx] = lendCount - 1;
        }
        this.#resourceLenders = [];
        this.#resourceScopeExited = true;
        RESOURCE_SCOPE_TASKS.delete(this.#resourceScopeId);
      }
      
      completionPromise() { return this.#completionPromise; }
      settleCompletion() { this.#settleCompletionPromise(); }
      exitPromise() { return this.#exitPromise; }
      
      waitForProgress() {
        const { promise, resolve } = promiseWithResolvers();
        this.#progressWaiters.push(resolve);
        return promise;
      }
      
      notifyProgress() {
        const waiters = this.#progressWaiters;
        this.#progressWaiters = [];
        for (const resolve of waiters) { resolve(); }
      }
      
      isAsync() { return this.#isAsync; }
      isManualAsync() { return this.#isManualAsync; }
      isSync() { return !this.isAsync(); }
      
      getErrHandling() { return this.#errHandling; }
      
      hasCallback() { return this.#callbackFn !== null; }
      
      getReturnMemoryIdx() { return this.#memoryIdx; }
      setReturnMemoryIdx(idx) {
        if (idx === null) { return; }
        this.#memoryIdx = idx;
      }
      
      getReturnMemory() { return this.#memory; }
      setReturnMemory(m) {
        if (m === null) { return; }
        this.#memory = m;
      }
      
      setReturnLowerFns(fns) { this.#returnLowerFns = fns; }
      getReturnLowerFns() { return this.#returnLowerFns; }
      
      setCalleeIsAsync(value) {
        if (typeof value !== 'boolean') { throw new TypeError('callee async state must be a boolean'); }
        this.#calleeIsAsync = value;
      }
      
      setParentSubtask(subtask) {
        if (!subtask || !(subtask instanceof AsyncSubtask)) { return }
        if (this.#parentSubtask) { throw new Error('parent subtask can only be set once'); }
        this.#parentSubtask = subtask;
      }
      
      getParentSubtask() { return this.#parentSubtask; }
      
      // TODO(threads): this is very inefficient, we can pass along a root task,
      // and ideally do not need this once thread support is in place
      getRootTask() {
        let currentSubtask = this.getParentSubtask();
        let task = this;
        while (currentSubtask) {
          task = currentSubtask.getParentTask();
          currentSubtask = task.getParentSubtask();
        }
        return task;
      }
      
      setPostReturnFn(f) {
        if (!f) { return; }
        if (this.#postReturnFn) { throw new Error('postReturn fn can only be set once'); }
        this.#postReturnFn = f;
      }
      
      setCallbackFn(f, name) {
        if (!f) { return; }
        if (this.#callbackFn) { throw new Error('callback fn can only be set once'); }
        this.#callbackFn = f;
        this.#callbackFnName = name;
      }
      
      getCallbackFnName() {
        if (!this.#callbackFnName) { return undefined; }
        return this.#callbackFnName;
      }
      
      runCallbackFn(...args) {
        if (!this.#callbackFn) { throw new Error('no callback function has been set for task'); }
        if (this.#callbackFn._jcoMaySuspend === false) {
          return _withGlobalCurrentTaskMeta({
            taskID: this.#id,
            componentIdx: this.#componentIdx,
            fn: () => this.#callbackFn.apply(null, args),
          });
        }
        return _withGlobalCurrentTaskMetaAsync({
          taskID: this.#id,
          componentIdx: this.#componentIdx,
          fn: () => { return this.#callbackFn.apply(null, args); }
        });
      }
      
      getCalleeParams() {
        if (!this.#getCalleeParamsFn) { throw new Error('missing/invalid getCalleeParamsFn'); }
        return this.#getCalleeParamsFn();
      }
      
      // Legacy manually-async exports are sync-typed in the component
      // but use JSPI precisely so their guest stack may suspend.
      mayBlock() { return this.isAsync() || this.isManualAsync() || this.isResolvedState() }
      
      mayEnter(task) {
        const cstate = getOrCreateAsyncState(this.#componentIdx);
        if (cstate.hasBackpressure()) {
          _debugLog('[AsyncTask#mayEnter()] disallowed due to backpressure', { taskID: this.#id });
          return false;
        }
        if (!cstate.callingSyncImport()) {
          _debugLog('[AsyncTask#mayEnter()] disallowed due to sync import call', { taskID: this.#id });
          return false;
        }
        const callingSyncExportWithSyncPending = cstate.callingSyncExport && !task.isAsync;
        if (!callingSyncExportWithSyncPending) {
          _debugLog('[AsyncTask#mayEnter()] disallowed due to sync export w/ sync pending', { taskID: this.#id });
          return false;
        }
        return true;
      }
      
      enterSync() {
        if (this.needsExclusiveLock()) {
          const cstate = getOrCreateAsyncState(this.#componentIdx);
          if (!cstate.isExclusivelyLocked()) {
            cstate.exclusiveLock(this.#id);
          } else {
            // A host-called sync export arriving while another
            // task's slice holds the lock: synchronous entry
            // cannot wait, and historically this entry silently
            // stole the hold. Run without the lock instead --
            // the holder's bookkeeping stays intact and its
            // release still pairs
            this.#lockFreeEntry = true;
            _debugLog('[AsyncTask#enterSync()] entering without exclusive lock', {
              taskID: this.#id,
              componentIdx: this.#componentIdx,
            });
          }
        }
        return true;
      }
      
      tryEnter() {
        if (this.#entered) {
          throw new Error(`task with ID [${this.#id}] should not be entered twice`);
        }
        
        if (this.deliverPendingCancel({ cancellable: true })) {
          this.cancel();
          return false;
        }
        
        const cstate = getOrCreateAsyncState(this.#componentIdx);
        if (this.isSync()) {
          this.#entered = true;
          return true;
        }
        if (cstate.hasBackpressure()) { return null; }
        if (this.needsExclusiveLock()) {
          if (cstate.isExclusivelyLocked()) { return null; }
          cstate.exclusiveLock(this.#id);
        }
        
        if (this.deliverPendingCancel({ cancellable: true })) {
          cstate.exclusiveRelease(this.#id);
          this.cancel();
          return false;
        }
        
        this.#entered = true;
        return true;
      }
      
      async enter(opts) {
        _debugLog('[AsyncTask#enter()] args', {
          taskID: this.#id,
          componentIdx: this.#componentIdx,
          subtaskID: this.getParentSubtask()?.id(),
          args: opts,
          entryFnName: this.#entryFnName,
        });
        
        if (this.#entered) {
          throw new Error(`task with ID [${this.#id}] should not be entered twice`);
        }
        
        // If cancellation was requested before the task was entered, resolve
        // as cancelled without ever running guest code
        if (this.deliverPendingCancel({ cancellable: true })) {
          this.cancel();
          return false;
        }
        
        const cstate = getOrCreateAsyncState(this.#componentIdx);
        
        if (opts?.isHost) {
          this.#entered = true;
          // A guest task may be synchronously blocked in this
          // host entry. Propagate that boundary so an async
          // cancellation driver can yield BLOCKED while the host
          // operation is outstanding.
          const parentTask = this.#parentSubtask?.getParentTask();
          if (
          parentTask?.taskState() === AsyncTask.State.CANCEL_DELIVERED
          || (parentTask && !parentTask.hasCallback())
          ) {
            parentTask.notifyProgress();
          }
          return this.#entered;
        }
        
        // NOTE: concurrent task lifetimes within one component instance are
        // permitted by the Component Model: entry is governed by the
        // backpressure and exclusive-lock checks below (the lock is held per
        // execution slice, not for the task's lifetime).
        //
        // Serializing entire task lifetimes here (the former "execution slot" queue)
        // deadlocks pipelines where a parked long-lived task's progress depends on a
        // later entry into the same component.
        
        // If a task is synchronous then we can avoid component-relevant
        // tracking and immediately enter.
        if (this.isSync()) {
          this.#entered = true;
          
          // TODO(breaking): remove once manually-specifying async fns is removed
          // It is currently possible for an actually sync export to be specified
          // as async via JSPI
          if (this.#isManualAsync) {
            if (this.needsExclusiveLock()) { await cstate.acquireExclusiveLock(this.#id); }
          }
          
          return this.#entered;
        }
        
        // Perform intial backpressure check
        if (cstate.hasBackpressure()) {
          cstate.addBackpressureWaiter();
          
          const result = await this.waitUntil({
            readyFn: () => {
              return !cstate.hasBackpressure();
            },
            cancellable: true,
          });
          
          cstate.removeBackpressureWaiter();
          
          if (!result || this.isCancelled()) {
            if (!this.isResolvedState()) { this.cancel(); }
            return false;
          }
        }
        
        // Acquire the per-slice exclusive lock (FIFO-queued when
        // contended); the first slice runs under this hold and the
        // driver loop releases/re-acquires it per slice thereafter.
        if (this.needsExclusiveLock()) {
          await cstate.acquireExclusiveLock(this.#id);
        }
        
        // Cancellation-before-start may resolve this task while its
        // queued lock acquisition is still pending. Acquiring the lock
        // does not make the already-resolved task runnable again.
        if (this.isResolvedState() || this.isCancelled()) {
          cstate.exclusiveRelease(this.#id);
          return false;
        }
        
        // Cancellation can be requested while entry is waiting for
        // backpressure or its exclusive lock. Do not execute the guest
        // after acquiring a lock for a task that should no longer start.
        if (this.deliverPendingCancel({ cancellable: true })) {
          cstate.exclusiveRelease(this.#id);
          this.cancel();
          return false;
        }
        
        this.#entered = true;
        return this.#entered;
      }
      
      isRunningState() { return this.#state !== AsyncTask.State.RESOLVED; }
      isResolvedState() { return this.#state === AsyncTask.State.RESOLVED; }
      isResolved() { return this.#state === AsyncTask.State.RESOLVED; }
      isExited() { return this.#exited; }
      
      async waitUntil(opts) {
        const { readyFn, cancellable } = opts;
        _debugLog('[AsyncTask#waitUntil()] args', { taskID: this.#id, args: { cancellable } });
        
        // TODO(fix): check for cancel
        // TODO(fix): determinism
        // TODO(threads): add this thread to waiting list
        
        const keepGoing = await this.suspendUntil({
          readyFn,
          cancellable,
        });
        
        return keepGoing;
      }
      
      async yieldUntil(opts) {
        const { readyFn, cancellable } = opts;
        _debugLog('[AsyncTask#yieldUntil()]', {
          taskID: this.#id,
          args: {
            cancellable,
          },
          componentIdx: this.#componentIdx,
        });
        
        // A callback YIELD is an explicit request to let other work run.
        // Unlike waits whose condition is already ready, it must always
        // suspend for at least one scheduler turn.
        const keepGoing = await this.immediateSuspend({ readyFn, cancellable });
        if (keepGoing) {
          return {
            code: ASYNC_EVENT_CODE.NONE,
            payload0: 0,
            payload1: 0,
          };
        }
        
        return {
          code: ASYNC_EVENT_CODE.TASK_CANCELLED,
          payload0: 0,
          payload1: 0,
        };
      }
      
      async suspendUntil(opts) {
        const { cancellable, readyFn } = opts;
        _debugLog('[AsyncTask#suspendUntil()] args', {
          taskID: this.#id,
          args: {
            cancellable,
          },
          componentIdx: this.#componentIdx,
        });
        
        const pendingCancelled = this.deliverPendingCancel({ cancellable });
        if (pendingCancelled) { return false; }
        
        const completed = await this.immediateSuspendUntil({ readyFn, cancellable });
        return completed;
      }
      
      suspendUntilCallback(opts, onResume) {
        const { cancellable, readyFn } = opts;
        if (this.deliverPendingCancel({ cancellable })) {
          onResume(false);
          return;
        }
        
        const cstate = getOrCreateAsyncState(this.#componentIdx);
        cstate.suspendTask({
          task: this,
          cancellable,
          readyFn: () => {
            if (cancellable && this.#state === AsyncTask.State.CANCEL_PENDING) {
              return true;
            }
            return readyFn();
          },
          onResume: (keepGoing) => {
            if (keepGoing && this.deliverPendingCancel({ cancellable })) {
              keepGoing = false;
            }
            onResume(keepGoing);
          },
        });
      }
      
      // TODO(threads): equivalent to thread.suspend_until()
      async immediateSuspendUntil(opts) {
        const { cancellable, readyFn } = opts;
        _debugLog('[AsyncTask#immediateSuspendUntil()] args', {
          args: {
            cancellable,
            readyFn,
          },
          taskID: this.#id,
          componentIdx: this.#componentIdx,
        });
        
        const ready = readyFn();
        if (ready && ASYNC_DETERMINISM === 'random') {
          const coinFlip = _coinFlip();
          if (coinFlip) { return true }
        }
        
        const keepGoing = await this.immediateSuspend({ cancellable, readyFn });
        return keepGoing;
      }
      
      async immediateSuspend(opts) { // NOTE: equivalent to thread.suspend()
      // TODO(threads): store readyFn on the thread
      const { cancellable, readyFn } = opts;
      _debugLog('[AsyncTask#immediateSuspend()] args', { cancellable, readyFn });
      
      const pendingCancelled = this.deliverPendingCancel({ cancellable });
      if (pendingCancelled) { return false; }
      
      const cstate = getOrCreateAsyncState(this.#componentIdx);
      const keepGoing = await cstate.suspendTask({
        task: this,
        cancellable,
        readyFn: () => {
          // A pending cancellation request wakes cancellable waits
          if (cancellable && this.#state === AsyncTask.State.CANCEL_PENDING) {
            return true;
          }
          return readyFn();
        },
      });
      if (keepGoing && this.deliverPendingCancel({ cancellable })) { return false; }
      return keepGoing;
    }
    
    deliverPendingCancel(opts) {
      const { cancellable } = opts;
      _debugLog('[AsyncTask#deliverPendingCancel()]', {
        args: { cancellable },
        taskID: this.#id,
        componentIdx: this.#componentIdx,
      });
      
      if (cancellable && this.#state === AsyncTask.State.CANCEL_PENDING) {
        this.#state = AsyncTask.State.CANCEL_DELIVERED;
        return true;
      }
      
      return false;
    }
    
    isCancelled() { return this.cancelled }
    cancellationRequested() { return this.cancelRequested; }
    
    // Request cooperative cancellation of this task, called on behalf of a
    // supertask performing `subtask.cancel` on the subtask this task backs.
    //
    // The request is delivered at this task's next cancellable wait
    // (see suspendUntil/immediateSuspend), at which point the task is
    // expected to acknowledge via `task.cancel` or still resolve via
    // `task.return`.
    requestCancellation() {
      _debugLog('[AsyncTask#requestCancellation()] args', {
        taskID: this.#id,
        componentIdx: this.#componentIdx,
        state: this.#state,
      });
      if (this.isResolvedState() || this.cancelRequested) { return; }
      this.cancelRequested = true;
      if (this.#state === AsyncTask.State.INITIAL) {
        this.#state = AsyncTask.State.CANCEL_PENDING;
      }
      // Nudge the component's tick loop so that any suspended cancellable
      // wait observes the pending cancellation promptly
      getOrCreateAsyncState(this.#componentIdx).runTickLoop();
    }
    
    cancel(args) {
      _debugLog('[AsyncTask#cancel()] args', { });
      if (this.taskState() !== AsyncTask.State.CANCEL_DELIVERED) {
        throw new Error(`(component [${this.#componentIdx}]) task [${this.#id}] invalid task state [${this.taskState()}] for cancellation`);
      }
      this.validateResourceBorrowScope();
      this.cancelled = true;
      // Cancelled tasks resolve with no value (spec: `Task.cancel` calls
      // `on_resolve(None)`); an explicit error is only present on the
      // host-driven rejection path (see `reject()`).
      this.onResolve(args?.error ?? null);
      this.#state = AsyncTask.State.RESOLVED;
      // A task cancelled before entry has no driver loop that can
      // report its exit. Entered tasks notify after releasing their
      // component slice in `exit()`.
      if (!this.#entered) { this.notifyProgress(); }
    }
    
    onResolve(taskValue) {
      const handlers = this.#onResolveHandlers;
      this.#onResolveHandlers = [];
      for (const f of handlers) {
        try {
          f(taskValue);
        } catch (err) {
          _debugLog("[AsyncTask#onResolve] error during task resolve handler", err);
          throw err;
        }
      }
      
      // Rejections are control-flow failures, not canonical ABI results.
      // Propagate them through the subtask chain without running return
      // lowering or post-return hooks for a successful result.
      if (this.#rejected) {
        this.#parentSubtask?.reject(taskValue);
        return;
      }
      
      // NOTE: if the parent subtask has already been resolved (e.g. it was
      // cancelled via `subtask.cancel` while this task was still pending),
      // this task's resolution must be discarded rather than delivered.
      const parentSubtaskPending = this.#parentSubtask && !this.#parentSubtask.isResolved();
      const taskReturned = !this.isCancelled();
      
      if (parentSubtaskPending && taskReturned) {
        const meta = this.#parentSubtask.getCallMetadata();
        // Run the rturn fn if it has not already been called -- this *should* have happened in
        // `task.return`, but some paths do not go through task.return (e.g. async lower of sync fn
        // which goes through prepare + async-start-call)
        if (meta.returnFn && !meta.returnFnCalled) {
          _debugLog('[AsyncTask#onResolve()] running returnFn', {
            componentIdx: this.#componentIdx,
            taskID: this.#id,
            subtaskID: this.#parentSubtask.id(),
          });
          const callerTask = this.#parentSubtask.getParentTask();
          _withGlobalCurrentTaskMeta({
            taskID: callerTask.id(),
            componentIdx: callerTask.componentIdx(),
            fn: () => meta.returnFn.apply(null, [taskValue, meta.resultPtr]),
          });
          meta.returnFnCalled = true;
        }
      }
      
      if (this.#postReturnFn && taskReturned) {
        _debugLog('[AsyncTask#onResolve()] running post return ', {
          componentIdx: this.#componentIdx,
          taskID: this.#id,
        });
        try {
          _withGlobalCurrentTaskMeta({
            taskID: this.#id,
            componentIdx: this.#componentIdx,
            fn: () => this.#postReturnFn(taskValue),
          });
        } catch (err) {
          _debugLog("[AsyncTask#onResolve] error during task resolve handler", err);
          throw err;
        }
      }
      
      if (parentSubtaskPending) {
        this.#parentSubtask.onResolve(taskValue);
      }
    }
    
    registerOnResolveHandler(f) {
      this.#onResolveHandlers.push(f);
    }
    
    isRejected() { return this.#rejected; }
    
    isErrored() { return this.#errored; }
    setErrored(err) {
      // Preserve the originating trap when unwinding through
      // additional guest frames produces secondary traps (often
      // an `unreachable` after a call which was expected to trap).
      if (this.#errored === null) { this.#errored = err; }
    }
    
    reject(taskErr) {
      _debugLog('[AsyncTask#reject()] args', {
        componentIdx: this.#componentIdx,
        taskID: this.#id,
        parentSubtask: this.#parentSubtask,
        parentSubtaskID: this.#parentSubtask?.id(),
        entryFnName: this.entryFnName(),
        callbackFnName: this.#callbackFnName,
        errMsg: taskErr.message,
      });
      
      this.setErrored(taskErr);
      if (this.#rejected) { return; }
      
      // A task may call `task.return` before its callback exits.
      // A trap in cleanup or spawned work must still reject the
      // host call and poison the enclosing task chain.
      if (this.isResolvedState()) {
        this.#rejected = true;
        this.#errored = taskErr;
        const parentTask = this.#parentSubtask?.getParentTask();
        if (parentTask) { parentTask.reject(taskErr); }
        return;
      }
      
      this.#rejected = true;
      this.cancelRequested = true;
      this.#state = AsyncTask.State.CANCEL_PENDING;
      const cancelled = this.deliverPendingCancel({ cancellable: true });
      
      // TODO: do cleanup here to reset the machinery so we can run again?
      
      this.cancel({ error: taskErr });
    }
    
    resolve(results) {
      _debugLog('[AsyncTask#resolve()] args', {
        componentIdx: this.#componentIdx,
        taskID: this.#id,
        entryFnName: this.entryFnName(),
        callbackFnName: this.#callbackFnName,
      });
      
      if (this.#state === AsyncTask.State.RESOLVED) {
        throw new Error(`(component [${this.#componentIdx}]) task [${this.#id}]  is already resolved (did you forget to wait for an import?)`);
      }
      
      this.validateResourceBorrowScope();
      
      this.#state = AsyncTask.State.RESOLVED;
      
      switch (results.length) {
        case 0:
        this.onResolve(undefined);
        break;
        case 1:
        this.onResolve(results[0]);
        break;
        default:
        _debugLog('[AsyncTask#resolve()] unexpected number of results', {
          componentIdx: this.#componentIdx,
          results,
          taskID: this.#id,
          subtaskID: this.#parentSubtask?.id(),
          entryFnName: this.#entryFnName,
          callbackFnName: this.#callbackFnName,
        });
        throw new Error('unexpected number of results');
      }
    }
    
    exit(args) {
      _debugLog('[AsyncTask#exit()]', {
        componentIdx: this.#componentIdx,
        taskID: this.#id,
      });
      
      if (this.#exited)  { throw new Error("task has already exited"); }
      
      if (this.#state !== AsyncTask.State.RESOLVED) {
        throw new Error(`(component [${this.#componentIdx}]) task [${this.#id}] exited without resolution`);
      }
      
      this.validateResourceBorrowScope();
      
      const state = getOrCreateAsyncState(this.#componentIdx);
      if (!state) { throw new Error('missing async state for component [' + this.#componentIdx + ']'); }
      
      // Exempt the host from exclusive lock check
      if (this.#componentIdx !== -1 && !args?.skipExclusiveLockCheck && !this.#lockFreeEntry) {
        if (this.needsExclusiveLock() && !state.exclusivelyLockedBy(this.#id)) {
          throw new Error(`task [${this.#id}] exit: component [${this.#componentIdx}] should have been exclusively locked by it`);
        }
      }
      
      // Ownership-checked: releases only this task's own hold (a
      // task exiting while another task's slice holds the lock no
      // longer clears the foreign hold).
      state.exclusiveRelease(this.#id);
      this.notifyProgress();
      
      for (const f of this.#onExitHandlers) {
        try {
          f();
        } catch (err) {
          console.error("error during task exit handler", err);
          throw err;
        }
      }
      
      this.#exited = true;
      clearCurrentTask(this.#componentIdx, this.id());
    }
    
    needsExclusiveLock() {
      // Host (-1) tasks model host-side import handling: there is no
      // guest linear memory or executor state to protect, and host
      // calls from unrelated guest components would contend spuriously.
      if (this.#componentIdx === -1) { return false; }
      // Import-handler tasks (CallInterface) run host code nested
      // inside the calling guest slice, which already holds the
      // lock; only tasks that execute guest slices need it.
      if (!this.#callingWasmExport) { return false; }
      // A sync-lifted callee cannot be reentered until the whole
      // stackful call returns. This is the Component Model's
      // automatic-backpressure rule for async-lowered calls.
      return !this.#isAsync || this.hasCallback() || this.#calleeIsAsync === false;
    }
    
    createSubtask(args) {
      _debugLog('[AsyncTask#createSubtask()] args', args);
      const { componentIdx, childTask, callMetadata, fnName, isAsync, isManualAsync } = args;
      
      const cstate = getOrCreateAsyncState(this.#componentIdx);
      if (!cstate) {
        throw new Error(`invalid/missing async state for component idx [${componentIdx}]`);
      }
      
      const waitable = new Waitable({
        componentIdx: this.#componentIdx,
        target: `subtask (internal ID [${this.#id}])`,
      });
      
      const newSubtask = new AsyncSubtask({
        componentIdx,
        childTask,
        parentTask: this,
        callMetadata,
        isAsync,
        isManualAsync,
        fnName,
        waitable,
      });
      this.#subtasks.push(newSubtask);
      newSubtask.setTarget(`subtask (internal ID [${newSubtask.id()}], waitable [${waitable.idx()}], component [${componentIdx}])`);
      waitable.setIdx(cstate.handles.insert(newSubtask));
      waitable.setTarget(`waitable for subtask (waitable id [${waitable.idx()}], subtask internal ID [${newSubtask.id()}])`);
      return newSubtask;
    }
    
    getLatestSubtask() {
      return this.#subtasks.at(-1);
    }
    
    getSubtaskByWaitableRep(rep) {
      if (rep === undefined) { throw new TypeError('missing rep'); }
      return this.#subtasks.find(s => s.waitableRep() === rep);
    }
    
    currentSubtask() {
      _debugLog('[AsyncTask#currentSubtask()]');
      if (this.#subtasks.length === 0) { return undefined; }
      return this.#subtasks.at(-1);
    }
    
    removeSubtask(subtask) {
      if (this.#subtasks.length === 0) {
        throw new Error('cannot end current subtask: no current subtask');
      }
      this.#subtasks = this.#subtasks.filter(t => t !== subtask);
      return subtask;
    }
  }
  
  function createNewCurrentTask(args) {
    _debugLog('[createNewCurrentTask()] args', args);
    const {
      componentIdx,
      isAsync,
      isManualAsync,
      preserveFutureResult,
      entryFnName,
      parentSubtaskID,
      callbackFnName,
      getCallbackFn,
      getParamsFn,
      stringEncoding,
      errHandling,
      getCalleeParamsFn,
      resultPtr,
      callingWasmExport,
    } = args;
    if (componentIdx === undefined || componentIdx === null) {
      throw new Error('missing/invalid component instance index while starting task');
    }
    let taskMetas = ASYNC_TASKS_BY_COMPONENT_IDX.get(componentIdx);
    const callbackFn = getCallbackFn ? getCallbackFn() : null;
    
    const newTask = new AsyncTask({
      componentIdx,
      isAsync,
      isManualAsync,
      preserveFutureResult,
      entryFnName,
      callbackFn,
      callbackFnName,
      stringEncoding,
      getCalleeParamsFn,
      resultPtr,
      errHandling,
      callingWasmExport,
    });
    
    const newTaskID = newTask.id();
    const newTaskMeta = { id: newTaskID, componentIdx, task: newTask };
    
    // NOTE: do not track host tasks
    ASYNC_CURRENT_TASK_IDS.push(newTaskID);
    ASYNC_CURRENT_COMPONENT_IDXS.push(componentIdx);
    
    if (!taskMetas) {
      taskMetas = [newTaskMeta];
      ASYNC_TASKS_BY_COMPONENT_IDX.set(componentIdx, [newTaskMeta]);
    } else {
      taskMetas.push(newTaskMeta);
    }
    
    return [newTask, newTaskID];
  }
  
  const CURRENT_TASK_MAY_BLOCK= globalThis.WebAssembly ? new globalThis.WebAssembly.Global({ value: 'i32', mutable: true }, 0) : false;
  
  
  function _checkMayLeave(componentIdx) {
    if (INSTANCE_FLAGS.get(componentIdx)?.value !== 1) {
      throw new WebAssemblyRuntimeError('cannot leave component instance');
    }
  }
  
  function _guardMayLeave(componentIdx, fn) {
    return function (...args) {
      _checkMayLeave(componentIdx);
      return fn.apply(this, args);
    };
  }
  
  const fetchCompile = url => fetch(url).then(WebAssembly.compileStreaming);
  
  const symbolRscHandle = Symbol('handle');
  const symbolDispose = Symbol.dispose || Symbol.for('dispose');
  
  const HANDLE_TABLES= [];
  
  
  function finalizationRegistryCreate (unregister) {
    if (typeof FinalizationRegistry === 'undefined') {
      return { unregister () {} };
    }
    return new FinalizationRegistry(unregister);
  }
  
  
  if (!getCoreModule) getCoreModule = (name) => fetchCompile(new URL(`./${name}`, import.meta.url));
  const module0 = getCoreModule('walker.core.wasm');
  const module1 = getCoreModule('walker.core2.wasm');
  const module2 = getCoreModule('walker.core3.wasm');
  
  let gen = (function* _initGenerator () {
    const instanceFlags0 = new WebAssembly.Global({ value: "i32", mutable: true }, 1);
    INSTANCE_FLAGS.set(0, instanceFlags0);
    let exports0;
    let exports1;
    let exports2;
    let memory0;
    let realloc0;
    let realloc0Async;
    let postReturn0;
    let postReturn0Async;
    let postReturn1;
    let postReturn1Async;
    let postReturn2;
    let postReturn2Async;
    let postReturn3;
    let postReturn3Async;
    let postReturn4;
    let postReturn4Async;
    let postReturn5;
    let postReturn5Async;
    let postReturn6;
    let postReturn6Async;
    let postReturn7;
    let postReturn7Async;
    let postReturn8;
    let postReturn8Async;
    let documents010CheckGraph;
    
    function checkGraph(arg0, arg1, arg2) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'documents010CheckGraph',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr1= encodeRes.ptr;
            var len1 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg2, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/documents@0.1.0", function="check-graph"][Instruction::CallWasm] enter', {
              funcName: 'check-graph',
              paramCount: 6,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => documents010CheckGraph(ptr0, len0, ptr1, len1, ptr2, len2),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            var ptr3 = dataView(memory0).getUint32(ret + 0, true);
            var len3 = dataView(memory0).getUint32(ret + 4, true);
            var result3 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr3, len3));
            _debugLog('[iface="graph-host:walker/documents@0.1.0", function="check-graph"][Instruction::Return]', {
              funcName: 'check-graph',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            task.resolve([result3]);
            const retCopy = result3;
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn0(ret);
            cstate.mayLeave = true;
            task.exit();
            return retCopy;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    }
    let documents010Topology;
    
    function topology(arg0, arg1, arg2) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'documents010Topology',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr1= encodeRes.ptr;
            var len1 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg2, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/documents@0.1.0", function="topology"][Instruction::CallWasm] enter', {
              funcName: 'topology',
              paramCount: 6,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => documents010Topology(ptr0, len0, ptr1, len1, ptr2, len2),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant10;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr3 = dataView(memory0).getUint32(ret + 4, true);
                var len3 = dataView(memory0).getUint32(ret + 8, true);
                var result3 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr3, len3));
                variant10= {
                  tag: 'ok',
                  val: result3
                };
                break;
              }
              case 1: {
                var ptr4 = dataView(memory0).getUint32(ret + 4, true);
                var len4 = dataView(memory0).getUint32(ret + 8, true);
                var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                var ptr5 = dataView(memory0).getUint32(ret + 12, true);
                var len5 = dataView(memory0).getUint32(ret + 16, true);
                var result5 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr5, len5));
                let variant7;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant7 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr6 = dataView(memory0).getUint32(ret + 24, true);
                    var len6 = dataView(memory0).getUint32(ret + 28, true);
                    var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                    variant7 = result6;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant9;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant9 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr8 = dataView(memory0).getUint32(ret + 36, true);
                    var len8 = dataView(memory0).getUint32(ret + 40, true);
                    var result8 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr8, len8));
                    variant9 = result8;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant10= {
                  tag: 'err',
                  val: {
                    code: result4,
                    message: result5,
                    help: variant7,
                    details: variant9,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/documents@0.1.0", function="topology"][Instruction::Return]', {
              funcName: 'topology',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant10;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn1(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    }
    let documents010ToMermaid;
    
    function toMermaid(arg0) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'documents010ToMermaid',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/documents@0.1.0", function="to-mermaid"][Instruction::CallWasm] enter', {
              funcName: 'to-mermaid',
              paramCount: 2,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => documents010ToMermaid(ptr0, len0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant8;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr1 = dataView(memory0).getUint32(ret + 4, true);
                var len1 = dataView(memory0).getUint32(ret + 8, true);
                var result1 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr1, len1));
                variant8= {
                  tag: 'ok',
                  val: result1
                };
                break;
              }
              case 1: {
                var ptr2 = dataView(memory0).getUint32(ret + 4, true);
                var len2 = dataView(memory0).getUint32(ret + 8, true);
                var result2 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr2, len2));
                var ptr3 = dataView(memory0).getUint32(ret + 12, true);
                var len3 = dataView(memory0).getUint32(ret + 16, true);
                var result3 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr3, len3));
                let variant5;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant5 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr4 = dataView(memory0).getUint32(ret + 24, true);
                    var len4 = dataView(memory0).getUint32(ret + 28, true);
                    var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                    variant5 = result4;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant7;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant7 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr6 = dataView(memory0).getUint32(ret + 36, true);
                    var len6 = dataView(memory0).getUint32(ret + 40, true);
                    var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                    variant7 = result6;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant8= {
                  tag: 'err',
                  val: {
                    code: result2,
                    message: result3,
                    help: variant5,
                    details: variant7,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/documents@0.1.0", function="to-mermaid"][Instruction::Return]', {
              funcName: 'to-mermaid',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant8;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn1(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    }
    let documents010ToDot;
    
    function toDot(arg0) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'documents010ToDot',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/documents@0.1.0", function="to-dot"][Instruction::CallWasm] enter', {
              funcName: 'to-dot',
              paramCount: 2,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => documents010ToDot(ptr0, len0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant8;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr1 = dataView(memory0).getUint32(ret + 4, true);
                var len1 = dataView(memory0).getUint32(ret + 8, true);
                var result1 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr1, len1));
                variant8= {
                  tag: 'ok',
                  val: result1
                };
                break;
              }
              case 1: {
                var ptr2 = dataView(memory0).getUint32(ret + 4, true);
                var len2 = dataView(memory0).getUint32(ret + 8, true);
                var result2 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr2, len2));
                var ptr3 = dataView(memory0).getUint32(ret + 12, true);
                var len3 = dataView(memory0).getUint32(ret + 16, true);
                var result3 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr3, len3));
                let variant5;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant5 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr4 = dataView(memory0).getUint32(ret + 24, true);
                    var len4 = dataView(memory0).getUint32(ret + 28, true);
                    var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                    variant5 = result4;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant7;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant7 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr6 = dataView(memory0).getUint32(ret + 36, true);
                    var len6 = dataView(memory0).getUint32(ret + 40, true);
                    var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                    variant7 = result6;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant8= {
                  tag: 'err',
                  val: {
                    code: result2,
                    message: result3,
                    help: variant5,
                    details: variant7,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/documents@0.1.0", function="to-dot"][Instruction::Return]', {
              funcName: 'to-dot',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant8;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn1(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    }
    let documents010CheckInputs;
    
    function checkInputs(arg0, arg1, arg2, arg3) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'documents010CheckInputs',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr1= encodeRes.ptr;
            var len1 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg2, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg3, realloc0, memory0);
            var ptr3= encodeRes.ptr;
            var len3 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/documents@0.1.0", function="check-inputs"][Instruction::CallWasm] enter', {
              funcName: 'check-inputs',
              paramCount: 8,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => documents010CheckInputs(ptr0, len0, ptr1, len1, ptr2, len2, ptr3, len3),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant11;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr4 = dataView(memory0).getUint32(ret + 4, true);
                var len4 = dataView(memory0).getUint32(ret + 8, true);
                var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                variant11= {
                  tag: 'ok',
                  val: result4
                };
                break;
              }
              case 1: {
                var ptr5 = dataView(memory0).getUint32(ret + 4, true);
                var len5 = dataView(memory0).getUint32(ret + 8, true);
                var result5 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr5, len5));
                var ptr6 = dataView(memory0).getUint32(ret + 12, true);
                var len6 = dataView(memory0).getUint32(ret + 16, true);
                var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                let variant8;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant8 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr7 = dataView(memory0).getUint32(ret + 24, true);
                    var len7 = dataView(memory0).getUint32(ret + 28, true);
                    var result7 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr7, len7));
                    variant8 = result7;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant10;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant10 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr9 = dataView(memory0).getUint32(ret + 36, true);
                    var len9 = dataView(memory0).getUint32(ret + 40, true);
                    var result9 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr9, len9));
                    variant10 = result9;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant11= {
                  tag: 'err',
                  val: {
                    code: result5,
                    message: result6,
                    help: variant8,
                    details: variant10,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/documents@0.1.0", function="check-inputs"][Instruction::Return]', {
              funcName: 'check-inputs',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant11;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn1(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    }
    let documents010CheckManifest;
    
    function checkManifest(arg0, arg1, arg2) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'documents010CheckManifest',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr1= encodeRes.ptr;
            var len1 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg2, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/documents@0.1.0", function="check-manifest"][Instruction::CallWasm] enter', {
              funcName: 'check-manifest',
              paramCount: 6,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => documents010CheckManifest(ptr0, len0, ptr1, len1, ptr2, len2),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            var ptr3 = dataView(memory0).getUint32(ret + 0, true);
            var len3 = dataView(memory0).getUint32(ret + 4, true);
            var result3 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr3, len3));
            _debugLog('[iface="graph-host:walker/documents@0.1.0", function="check-manifest"][Instruction::Return]', {
              funcName: 'check-manifest',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            task.resolve([result3]);
            const retCopy = result3;
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn0(ret);
            cstate.mayLeave = true;
            task.exit();
            return retCopy;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    }
    let documents010Explain;
    
    function explain(arg0) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'documents010Explain',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/documents@0.1.0", function="explain"][Instruction::CallWasm] enter', {
              funcName: 'explain',
              paramCount: 2,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => documents010Explain(ptr0, len0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant2;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                variant2 = undefined;
                break;
              }
              case 1: {
                var ptr1 = dataView(memory0).getUint32(ret + 4, true);
                var len1 = dataView(memory0).getUint32(ret + 8, true);
                var result1 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr1, len1));
                variant2 = result1;
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for option');
              }
            }
            _debugLog('[iface="graph-host:walker/documents@0.1.0", function="explain"][Instruction::Return]', {
              funcName: 'explain',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            task.resolve([variant2]);
            const retCopy = variant2;
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn2(ret);
            cstate.mayLeave = true;
            task.exit();
            return retCopy;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    }
    
    const handleTable0 = [T_FLAG, 0];
    handleTable0._createdReps = new Set();
    handleTable0._componentIdx = 0;
    const finalizationRegistry0 = finalizationRegistryCreate((handle) => {
      const { rep } = rscTableRemove(handleTable0, handle);
      exports0['9'](rep);
    });
    
    HANDLE_TABLES[0] = handleTable0;
    let trust010StaticComponentVerify;
    
    class Component{
      constructor () {
        throw new Error('"Component" resource does not define a constructor');
      }
    }
    
    Component.verify = function verify(arg0, arg1, arg2, arg3, arg4, arg5) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'trust010StaticComponentVerify',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            var val0 = arg0;
            var len0 = Array.isArray(val0) ? val0.length : val0.byteLength;
            var ptr0 = realloc0(0, 0, 1, len0 * 1);
            
            let valData0;
            const valLenBytes0 = len0 * 1;
            if (Array.isArray(val0)) {
              // Regular array likely containing numbers, write values to memory
              let offset = 0;
              const dv0 = new DataView(memory0.buffer);
              for (const v of val0) {
                _requireValidNumericPrimitive.bind(null, 'u8')(v);
                dv0.setUint8(ptr0+ offset, v, true);
                offset += 1;
              }
            } else {
              // TypedArray / ArrayBuffer-like, direct copy
              valData0 = new Uint8Array(val0.buffer || val0, val0.byteOffset, valLenBytes0);
              const out0 = new Uint8Array(memory0.buffer, ptr0, valLenBytes0);
              out0.set(valData0);
            }
            
            var variant2 = arg1;
            let variant2_0;
            let variant2_1;
            let variant2_2;
            if (variant2 === null || variant2=== undefined) {
              variant2_0 = 0;
              variant2_1 = 0;
              variant2_2 = 0;
            } else {
              const e = variant2;
              
              var encodeRes = _utf8AllocateAndEncode(e, realloc0, memory0);
              var ptr1= encodeRes.ptr;
              var len1 = encodeRes.len;
              
              variant2_0 = 1;
              variant2_1 = ptr1;
              variant2_2 = len1;
            }
            
            var encodeRes = _utf8AllocateAndEncode(arg2, realloc0, memory0);
            var ptr3= encodeRes.ptr;
            var len3 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg3, realloc0, memory0);
            var ptr4= encodeRes.ptr;
            var len4 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/trust@0.1.0", function="[static]component.verify"][Instruction::CallWasm] enter', {
              funcName: '[static]component.verify',
              paramCount: 11,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => trust010StaticComponentVerify(ptr0, len0, variant2_0, variant2_1, variant2_2, ptr3, len3, ptr4, len4, toUint64(arg4), toUint64(arg5)),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant13;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var handle6 = dataView(memory0).getInt32(ret + 4, true);
                var rsc5 = new.target === Component ? this : Object.create(Component.prototype);
                Object.defineProperty(rsc5, symbolRscHandle, { writable: true, value: handle6});
                finalizationRegistry0.register(rsc5, handle6, rsc5);
                Object.defineProperty(rsc5, symbolDispose, { writable: true, value: function () {
                  finalizationRegistry0.unregister(rsc5);
                  const handleEntry = rscTableRemove(handleTable0, handle6);
                  rsc5[symbolDispose] = emptyFunc;
                  rsc5[symbolRscHandle] = undefined;
                  exports0['9'](handleEntry.rep);
                }});
                variant13= {
                  tag: 'ok',
                  val: rsc5
                };
                break;
              }
              case 1: {
                var ptr7 = dataView(memory0).getUint32(ret + 4, true);
                var len7 = dataView(memory0).getUint32(ret + 8, true);
                var result7 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr7, len7));
                var ptr8 = dataView(memory0).getUint32(ret + 12, true);
                var len8 = dataView(memory0).getUint32(ret + 16, true);
                var result8 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr8, len8));
                let variant10;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant10 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr9 = dataView(memory0).getUint32(ret + 24, true);
                    var len9 = dataView(memory0).getUint32(ret + 28, true);
                    var result9 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr9, len9));
                    variant10 = result9;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant12;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant12 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr11 = dataView(memory0).getUint32(ret + 36, true);
                    var len11 = dataView(memory0).getUint32(ret + 40, true);
                    var result11 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr11, len11));
                    variant12 = result11;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant13= {
                  tag: 'err',
                  val: {
                    code: result7,
                    message: result8,
                    help: variant10,
                    details: variant12,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/trust@0.1.0", function="[static]component.verify"][Instruction::Return]', {
              funcName: '[static]component.verify',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant13;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn3(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let trust010StaticComponentUnderDevelopment;
    
    Component.underDevelopment = function underDevelopment(arg0, arg1, arg2, arg3) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'trust010StaticComponentUnderDevelopment',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            var val0 = arg0;
            var len0 = Array.isArray(val0) ? val0.length : val0.byteLength;
            var ptr0 = realloc0(0, 0, 1, len0 * 1);
            
            let valData0;
            const valLenBytes0 = len0 * 1;
            if (Array.isArray(val0)) {
              // Regular array likely containing numbers, write values to memory
              let offset = 0;
              const dv0 = new DataView(memory0.buffer);
              for (const v of val0) {
                _requireValidNumericPrimitive.bind(null, 'u8')(v);
                dv0.setUint8(ptr0+ offset, v, true);
                offset += 1;
              }
            } else {
              // TypedArray / ArrayBuffer-like, direct copy
              valData0 = new Uint8Array(val0.buffer || val0, val0.byteOffset, valLenBytes0);
              const out0 = new Uint8Array(memory0.buffer, ptr0, valLenBytes0);
              out0.set(valData0);
            }
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr1= encodeRes.ptr;
            var len1 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg2, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            var vec4 = arg3;
            var len4 = vec4.length;
            var result4 = realloc0(0, 0, 4, len4 * 8);
            for (let i = 0; i < vec4.length; i++) {
              const e = vec4[i];
              const base = result4 + i * 8;
              var encodeRes = _utf8AllocateAndEncode(e, realloc0, memory0);
              var ptr3= encodeRes.ptr;
              var len3 = encodeRes.len;
              
              dataView(memory0).setUint32(base + 4, len3, true);
              dataView(memory0).setUint32(base + 0, ptr3, true);
            }
            _debugLog('[iface="graph-host:walker/trust@0.1.0", function="[static]component.under-development"][Instruction::CallWasm] enter', {
              funcName: '[static]component.under-development',
              paramCount: 8,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => trust010StaticComponentUnderDevelopment(ptr0, len0, ptr1, len1, ptr2, len2, result4, len4),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant13;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var handle6 = dataView(memory0).getInt32(ret + 4, true);
                var rsc5 = new.target === Component ? this : Object.create(Component.prototype);
                Object.defineProperty(rsc5, symbolRscHandle, { writable: true, value: handle6});
                finalizationRegistry0.register(rsc5, handle6, rsc5);
                Object.defineProperty(rsc5, symbolDispose, { writable: true, value: function () {
                  finalizationRegistry0.unregister(rsc5);
                  const handleEntry = rscTableRemove(handleTable0, handle6);
                  rsc5[symbolDispose] = emptyFunc;
                  rsc5[symbolRscHandle] = undefined;
                  exports0['9'](handleEntry.rep);
                }});
                variant13= {
                  tag: 'ok',
                  val: rsc5
                };
                break;
              }
              case 1: {
                var ptr7 = dataView(memory0).getUint32(ret + 4, true);
                var len7 = dataView(memory0).getUint32(ret + 8, true);
                var result7 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr7, len7));
                var ptr8 = dataView(memory0).getUint32(ret + 12, true);
                var len8 = dataView(memory0).getUint32(ret + 16, true);
                var result8 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr8, len8));
                let variant10;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant10 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr9 = dataView(memory0).getUint32(ret + 24, true);
                    var len9 = dataView(memory0).getUint32(ret + 28, true);
                    var result9 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr9, len9));
                    variant10 = result9;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant12;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant12 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr11 = dataView(memory0).getUint32(ret + 36, true);
                    var len11 = dataView(memory0).getUint32(ret + 40, true);
                    var result11 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr11, len11));
                    variant12 = result11;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant13= {
                  tag: 'err',
                  val: {
                    code: result7,
                    message: result8,
                    help: variant10,
                    details: variant12,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/trust@0.1.0", function="[static]component.under-development"][Instruction::Return]', {
              funcName: '[static]component.under-development',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant13;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn3(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let trust010MethodComponentFunction;
    
    Component.prototype.function = function $function(arg1) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'trust010MethodComponentFunction',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable0[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Component\" resource.');
            }
            var handle0 = handleTable0[(handle1 << 1) + 1] & ~T_FLAG;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/trust@0.1.0", function="[method]component.function"][Instruction::CallWasm] enter', {
              funcName: '[method]component.function',
              paramCount: 3,
              async: false,
              postReturn: false,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => trust010MethodComponentFunction(handle0, ptr2, len2),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            var handle4 = ret;
            var rsc3 = new.target === Component ? this : Object.create(Component.prototype);
            Object.defineProperty(rsc3, symbolRscHandle, { writable: true, value: handle4});
            finalizationRegistry0.register(rsc3, handle4, rsc3);
            Object.defineProperty(rsc3, symbolDispose, { writable: true, value: function () {
              finalizationRegistry0.unregister(rsc3);
              const handleEntry = rscTableRemove(handleTable0, handle4);
              rsc3[symbolDispose] = emptyFunc;
              rsc3[symbolRscHandle] = undefined;
              exports0['9'](handleEntry.rep);
            }});
            _debugLog('[iface="graph-host:walker/trust@0.1.0", function="[method]component.function"][Instruction::Return]', {
              funcName: '[method]component.function',
              paramCount: 1,
              async: false,
              postReturn: false
            });
            task.resolve([rsc3]);
            task.exit();
            return rsc3;
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let trust010MethodComponentReport;
    
    Component.prototype.report = function report() {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'trust010MethodComponentReport',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable0[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Component\" resource.');
            }
            var handle0 = handleTable0[(handle1 << 1) + 1] & ~T_FLAG;
            
            _debugLog('[iface="graph-host:walker/trust@0.1.0", function="[method]component.report"][Instruction::CallWasm] enter', {
              funcName: '[method]component.report',
              paramCount: 1,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => trust010MethodComponentReport(handle0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            var ptr2 = dataView(memory0).getUint32(ret + 0, true);
            var len2 = dataView(memory0).getUint32(ret + 4, true);
            var result2 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr2, len2));
            _debugLog('[iface="graph-host:walker/trust@0.1.0", function="[method]component.report"][Instruction::Return]', {
              funcName: '[method]component.report',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            task.resolve([result2]);
            const retCopy = result2;
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn0(ret);
            cstate.mayLeave = true;
            task.exit();
            return retCopy;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let trust010MethodComponentGrant;
    
    Component.prototype.grant = function grant(arg1, arg2, arg3, arg4, arg5, arg6) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'trust010MethodComponentGrant',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable0[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Component\" resource.');
            }
            var handle0 = handleTable0[(handle1 << 1) + 1] & ~T_FLAG;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg2, realloc0, memory0);
            var ptr3= encodeRes.ptr;
            var len3 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg3, realloc0, memory0);
            var ptr4= encodeRes.ptr;
            var len4 = encodeRes.len;
            
            var variant6 = arg4;
            let variant6_0;
            let variant6_1;
            let variant6_2;
            if (variant6 === null || variant6=== undefined) {
              variant6_0 = 0;
              variant6_1 = 0;
              variant6_2 = 0;
            } else {
              const e = variant6;
              
              var encodeRes = _utf8AllocateAndEncode(e, realloc0, memory0);
              var ptr5= encodeRes.ptr;
              var len5 = encodeRes.len;
              
              variant6_0 = 1;
              variant6_1 = ptr5;
              variant6_2 = len5;
            }
            
            var encodeRes = _utf8AllocateAndEncode(arg5, realloc0, memory0);
            var ptr7= encodeRes.ptr;
            var len7 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg6, realloc0, memory0);
            var ptr8= encodeRes.ptr;
            var len8 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/trust@0.1.0", function="[method]component.grant"][Instruction::CallWasm] enter', {
              funcName: '[method]component.grant',
              paramCount: 14,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => trust010MethodComponentGrant(handle0, ptr2, len2, ptr3, len3, ptr4, len4, variant6_0, variant6_1, variant6_2, ptr7, len7, ptr8, len8),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant16;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr9 = dataView(memory0).getUint32(ret + 4, true);
                var len9 = dataView(memory0).getUint32(ret + 8, true);
                var result9 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr9, len9));
                variant16= {
                  tag: 'ok',
                  val: result9
                };
                break;
              }
              case 1: {
                var ptr10 = dataView(memory0).getUint32(ret + 4, true);
                var len10 = dataView(memory0).getUint32(ret + 8, true);
                var result10 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr10, len10));
                var ptr11 = dataView(memory0).getUint32(ret + 12, true);
                var len11 = dataView(memory0).getUint32(ret + 16, true);
                var result11 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr11, len11));
                let variant13;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant13 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr12 = dataView(memory0).getUint32(ret + 24, true);
                    var len12 = dataView(memory0).getUint32(ret + 28, true);
                    var result12 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr12, len12));
                    variant13 = result12;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant15;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant15 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr14 = dataView(memory0).getUint32(ret + 36, true);
                    var len14 = dataView(memory0).getUint32(ret + 40, true);
                    var result14 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr14, len14));
                    variant15 = result14;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant16= {
                  tag: 'err',
                  val: {
                    code: result10,
                    message: result11,
                    help: variant13,
                    details: variant15,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/trust@0.1.0", function="[method]component.grant"][Instruction::Return]', {
              funcName: '[method]component.grant',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant16;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn1(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let trust010CheckStore;
    
    function checkStore(arg0, arg1) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'trust010CheckStore',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr1= encodeRes.ptr;
            var len1 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/trust@0.1.0", function="check-store"][Instruction::CallWasm] enter', {
              funcName: 'check-store',
              paramCount: 4,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => trust010CheckStore(ptr0, len0, ptr1, len1),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            var ptr2 = dataView(memory0).getUint32(ret + 0, true);
            var len2 = dataView(memory0).getUint32(ret + 4, true);
            var result2 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr2, len2));
            _debugLog('[iface="graph-host:walker/trust@0.1.0", function="check-store"][Instruction::Return]', {
              funcName: 'check-store',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            task.resolve([result2]);
            const retCopy = result2;
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn0(ret);
            cstate.mayLeave = true;
            task.exit();
            return retCopy;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    }
    let trust010VerifyText;
    
    function verifyText(arg0, arg1, arg2, arg3, arg4) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'trust010VerifyText',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr1= encodeRes.ptr;
            var len1 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg2, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg3, realloc0, memory0);
            var ptr3= encodeRes.ptr;
            var len3 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/trust@0.1.0", function="verify-text"][Instruction::CallWasm] enter', {
              funcName: 'verify-text',
              paramCount: 9,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => trust010VerifyText(ptr0, len0, ptr1, len1, ptr2, len2, ptr3, len3, toUint64(arg4)),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant11;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr4 = dataView(memory0).getUint32(ret + 4, true);
                var len4 = dataView(memory0).getUint32(ret + 8, true);
                var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                variant11= {
                  tag: 'ok',
                  val: result4
                };
                break;
              }
              case 1: {
                var ptr5 = dataView(memory0).getUint32(ret + 4, true);
                var len5 = dataView(memory0).getUint32(ret + 8, true);
                var result5 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr5, len5));
                var ptr6 = dataView(memory0).getUint32(ret + 12, true);
                var len6 = dataView(memory0).getUint32(ret + 16, true);
                var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                let variant8;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant8 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr7 = dataView(memory0).getUint32(ret + 24, true);
                    var len7 = dataView(memory0).getUint32(ret + 28, true);
                    var result7 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr7, len7));
                    variant8 = result7;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant10;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant10 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr9 = dataView(memory0).getUint32(ret + 36, true);
                    var len9 = dataView(memory0).getUint32(ret + 40, true);
                    var result9 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr9, len9));
                    variant10 = result9;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant11= {
                  tag: 'err',
                  val: {
                    code: result5,
                    message: result6,
                    help: variant8,
                    details: variant10,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/trust@0.1.0", function="verify-text"][Instruction::Return]', {
              funcName: 'verify-text',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant11;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn1(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    }
    let digests010Canonical;
    
    function canonical(arg0) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'digests010Canonical',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/digests@0.1.0", function="canonical"][Instruction::CallWasm] enter', {
              funcName: 'canonical',
              paramCount: 2,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => digests010Canonical(ptr0, len0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant8;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr1 = dataView(memory0).getUint32(ret + 4, true);
                var len1 = dataView(memory0).getUint32(ret + 8, true);
                var result1 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr1, len1));
                variant8= {
                  tag: 'ok',
                  val: result1
                };
                break;
              }
              case 1: {
                var ptr2 = dataView(memory0).getUint32(ret + 4, true);
                var len2 = dataView(memory0).getUint32(ret + 8, true);
                var result2 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr2, len2));
                var ptr3 = dataView(memory0).getUint32(ret + 12, true);
                var len3 = dataView(memory0).getUint32(ret + 16, true);
                var result3 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr3, len3));
                let variant5;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant5 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr4 = dataView(memory0).getUint32(ret + 24, true);
                    var len4 = dataView(memory0).getUint32(ret + 28, true);
                    var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                    variant5 = result4;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant7;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant7 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr6 = dataView(memory0).getUint32(ret + 36, true);
                    var len6 = dataView(memory0).getUint32(ret + 40, true);
                    var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                    variant7 = result6;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant8= {
                  tag: 'err',
                  val: {
                    code: result2,
                    message: result3,
                    help: variant5,
                    details: variant7,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/digests@0.1.0", function="canonical"][Instruction::Return]', {
              funcName: 'canonical',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant8;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn1(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    }
    let digests010OfBytes;
    
    function ofBytes(arg0) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'digests010OfBytes',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            var val0 = arg0;
            var len0 = Array.isArray(val0) ? val0.length : val0.byteLength;
            var ptr0 = realloc0(0, 0, 1, len0 * 1);
            
            let valData0;
            const valLenBytes0 = len0 * 1;
            if (Array.isArray(val0)) {
              // Regular array likely containing numbers, write values to memory
              let offset = 0;
              const dv0 = new DataView(memory0.buffer);
              for (const v of val0) {
                _requireValidNumericPrimitive.bind(null, 'u8')(v);
                dv0.setUint8(ptr0+ offset, v, true);
                offset += 1;
              }
            } else {
              // TypedArray / ArrayBuffer-like, direct copy
              valData0 = new Uint8Array(val0.buffer || val0, val0.byteOffset, valLenBytes0);
              const out0 = new Uint8Array(memory0.buffer, ptr0, valLenBytes0);
              out0.set(valData0);
            }
            
            _debugLog('[iface="graph-host:walker/digests@0.1.0", function="of-bytes"][Instruction::CallWasm] enter', {
              funcName: 'of-bytes',
              paramCount: 2,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => digests010OfBytes(ptr0, len0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            var ptr1 = dataView(memory0).getUint32(ret + 0, true);
            var len1 = dataView(memory0).getUint32(ret + 4, true);
            var result1 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr1, len1));
            _debugLog('[iface="graph-host:walker/digests@0.1.0", function="of-bytes"][Instruction::Return]', {
              funcName: 'of-bytes',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            task.resolve([result1]);
            const retCopy = result1;
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn0(ret);
            cstate.mayLeave = true;
            task.exit();
            return retCopy;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    }
    let digests010OfInputs;
    
    function ofInputs(arg0) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'digests010OfInputs',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/digests@0.1.0", function="of-inputs"][Instruction::CallWasm] enter', {
              funcName: 'of-inputs',
              paramCount: 2,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => digests010OfInputs(ptr0, len0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant8;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr1 = dataView(memory0).getUint32(ret + 4, true);
                var len1 = dataView(memory0).getUint32(ret + 8, true);
                var result1 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr1, len1));
                variant8= {
                  tag: 'ok',
                  val: result1
                };
                break;
              }
              case 1: {
                var ptr2 = dataView(memory0).getUint32(ret + 4, true);
                var len2 = dataView(memory0).getUint32(ret + 8, true);
                var result2 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr2, len2));
                var ptr3 = dataView(memory0).getUint32(ret + 12, true);
                var len3 = dataView(memory0).getUint32(ret + 16, true);
                var result3 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr3, len3));
                let variant5;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant5 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr4 = dataView(memory0).getUint32(ret + 24, true);
                    var len4 = dataView(memory0).getUint32(ret + 28, true);
                    var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                    variant5 = result4;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant7;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant7 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr6 = dataView(memory0).getUint32(ret + 36, true);
                    var len6 = dataView(memory0).getUint32(ret + 40, true);
                    var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                    variant7 = result6;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant8= {
                  tag: 'err',
                  val: {
                    code: result2,
                    message: result3,
                    help: variant5,
                    details: variant7,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/digests@0.1.0", function="of-inputs"][Instruction::Return]', {
              funcName: 'of-inputs',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant8;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn1(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    }
    let digests010OfManifest;
    
    function ofManifest(arg0, arg1, arg2) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'digests010OfManifest',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr1= encodeRes.ptr;
            var len1 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg2, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/digests@0.1.0", function="of-manifest"][Instruction::CallWasm] enter', {
              funcName: 'of-manifest',
              paramCount: 6,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => digests010OfManifest(ptr0, len0, ptr1, len1, ptr2, len2),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant10;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr3 = dataView(memory0).getUint32(ret + 4, true);
                var len3 = dataView(memory0).getUint32(ret + 8, true);
                var result3 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr3, len3));
                variant10= {
                  tag: 'ok',
                  val: result3
                };
                break;
              }
              case 1: {
                var ptr4 = dataView(memory0).getUint32(ret + 4, true);
                var len4 = dataView(memory0).getUint32(ret + 8, true);
                var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                var ptr5 = dataView(memory0).getUint32(ret + 12, true);
                var len5 = dataView(memory0).getUint32(ret + 16, true);
                var result5 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr5, len5));
                let variant7;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant7 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr6 = dataView(memory0).getUint32(ret + 24, true);
                    var len6 = dataView(memory0).getUint32(ret + 28, true);
                    var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                    variant7 = result6;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant9;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant9 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr8 = dataView(memory0).getUint32(ret + 36, true);
                    var len8 = dataView(memory0).getUint32(ret + 40, true);
                    var result8 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr8, len8));
                    variant9 = result8;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant10= {
                  tag: 'err',
                  val: {
                    code: result4,
                    message: result5,
                    help: variant7,
                    details: variant9,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/digests@0.1.0", function="of-manifest"][Instruction::Return]', {
              funcName: 'of-manifest',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant10;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn1(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    }
    let digests010OfState;
    
    function ofState(arg0) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'digests010OfState',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/digests@0.1.0", function="of-state"][Instruction::CallWasm] enter', {
              funcName: 'of-state',
              paramCount: 2,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => digests010OfState(ptr0, len0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant8;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr1 = dataView(memory0).getUint32(ret + 4, true);
                var len1 = dataView(memory0).getUint32(ret + 8, true);
                var result1 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr1, len1));
                variant8= {
                  tag: 'ok',
                  val: result1
                };
                break;
              }
              case 1: {
                var ptr2 = dataView(memory0).getUint32(ret + 4, true);
                var len2 = dataView(memory0).getUint32(ret + 8, true);
                var result2 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr2, len2));
                var ptr3 = dataView(memory0).getUint32(ret + 12, true);
                var len3 = dataView(memory0).getUint32(ret + 16, true);
                var result3 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr3, len3));
                let variant5;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant5 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr4 = dataView(memory0).getUint32(ret + 24, true);
                    var len4 = dataView(memory0).getUint32(ret + 28, true);
                    var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                    variant5 = result4;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant7;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant7 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr6 = dataView(memory0).getUint32(ret + 36, true);
                    var len6 = dataView(memory0).getUint32(ret + 40, true);
                    var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                    variant7 = result6;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant8= {
                  tag: 'err',
                  val: {
                    code: result2,
                    message: result3,
                    help: variant5,
                    details: variant7,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/digests@0.1.0", function="of-state"][Instruction::Return]', {
              funcName: 'of-state',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant8;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn1(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    }
    let digests010OfChannel;
    
    function ofChannel(arg0, arg1, arg2) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'digests010OfChannel',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            var variant2 = arg2;
            let variant2_0;
            let variant2_1;
            let variant2_2;
            if (variant2 === null || variant2=== undefined) {
              variant2_0 = 0;
              variant2_1 = 0;
              variant2_2 = 0;
            } else {
              const e = variant2;
              
              var encodeRes = _utf8AllocateAndEncode(e, realloc0, memory0);
              var ptr1= encodeRes.ptr;
              var len1 = encodeRes.len;
              
              variant2_0 = 1;
              variant2_1 = ptr1;
              variant2_2 = len1;
            }
            _debugLog('[iface="graph-host:walker/digests@0.1.0", function="of-channel"][Instruction::CallWasm] enter', {
              funcName: 'of-channel',
              paramCount: 6,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => digests010OfChannel(ptr0, len0, arg1 ? 1 : 0, variant2_0, variant2_1, variant2_2),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant10;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr3 = dataView(memory0).getUint32(ret + 4, true);
                var len3 = dataView(memory0).getUint32(ret + 8, true);
                var result3 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr3, len3));
                variant10= {
                  tag: 'ok',
                  val: result3
                };
                break;
              }
              case 1: {
                var ptr4 = dataView(memory0).getUint32(ret + 4, true);
                var len4 = dataView(memory0).getUint32(ret + 8, true);
                var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                var ptr5 = dataView(memory0).getUint32(ret + 12, true);
                var len5 = dataView(memory0).getUint32(ret + 16, true);
                var result5 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr5, len5));
                let variant7;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant7 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr6 = dataView(memory0).getUint32(ret + 24, true);
                    var len6 = dataView(memory0).getUint32(ret + 28, true);
                    var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                    variant7 = result6;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant9;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant9 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr8 = dataView(memory0).getUint32(ret + 36, true);
                    var len8 = dataView(memory0).getUint32(ret + 40, true);
                    var result8 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr8, len8));
                    variant9 = result8;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant10= {
                  tag: 'err',
                  val: {
                    code: result4,
                    message: result5,
                    help: variant7,
                    details: variant9,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/digests@0.1.0", function="of-channel"][Instruction::Return]', {
              funcName: 'of-channel',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant10;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn1(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    }
    
    const handleTable6 = [T_FLAG, 0];
    handleTable6._createdReps = new Set();
    handleTable6._componentIdx = 0;
    const finalizationRegistry6 = finalizationRegistryCreate((handle) => {
      const { rep } = rscTableRemove(handleTable6, handle);
      exports0['2'](rep);
    });
    
    HANDLE_TABLES[6] = handleTable6;
    let host010ConstructorRandom;
    
    class Random{
      constructor(arg0) {
        
        const hostProvided = false;
        getOrCreateAsyncState(0).throwIfTrapped();
        
        const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
          componentIdx: 0,
          isAsync: false,
          isManualAsync: false,
          preserveFutureResult: false,
          entryFnName: 'host010ConstructorRandom',
          getCallbackFn: () => null,
          callbackFnName: null,
          errHandling: 'none',
          callingWasmExport: true,
        });
        task.setCalleeIsAsync(false);
        
        const started = task.enterSync();
        CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
        
        if (0!== null) {
          task.setReturnMemoryIdx(0);
          task.setReturnMemory((() => memory0)());
        }
        
        
        return _withGlobalCurrentTaskMeta({
          taskID: task.id(),
          componentIdx: task.componentIdx(),
          fn: () => {
            try {
              
              var val0 = arg0;
              var len0 = Array.isArray(val0) ? val0.length : val0.byteLength;
              var ptr0 = realloc0(0, 0, 1, len0 * 1);
              
              let valData0;
              const valLenBytes0 = len0 * 1;
              if (Array.isArray(val0)) {
                // Regular array likely containing numbers, write values to memory
                let offset = 0;
                const dv0 = new DataView(memory0.buffer);
                for (const v of val0) {
                  _requireValidNumericPrimitive.bind(null, 'u8')(v);
                  dv0.setUint8(ptr0+ offset, v, true);
                  offset += 1;
                }
              } else {
                // TypedArray / ArrayBuffer-like, direct copy
                valData0 = new Uint8Array(val0.buffer || val0, val0.byteOffset, valLenBytes0);
                const out0 = new Uint8Array(memory0.buffer, ptr0, valLenBytes0);
                out0.set(valData0);
              }
              
              _debugLog('[iface="graph-host:walker/host@0.1.0", function="[constructor]random"][Instruction::CallWasm] enter', {
                funcName: '[constructor]random',
                paramCount: 2,
                async: false,
                postReturn: false,
              });
              
              let ret;
              
              try {
                ret =  _withGlobalCurrentTaskMeta({
                  taskID: task.id(),
                  componentIdx: task.componentIdx(),
                  fn: () => host010ConstructorRandom(ptr0, len0),
                });
              } catch (err) {
                
                _debugLog('[Instruction::CallWasm] error during sync call', {
                  taskID: task.id(),
                  err,
                });
                getOrCreateAsyncState(0).markTrapped(err);
                task.setErrored(err);
                task.reject(err);
                task.exit();
                throw err;
                
              }
              
              var handle2 = ret;
              var rsc1 = new.target === Random ? this : Object.create(Random.prototype);
              Object.defineProperty(rsc1, symbolRscHandle, { writable: true, value: handle2});
              finalizationRegistry6.register(rsc1, handle2, rsc1);
              Object.defineProperty(rsc1, symbolDispose, { writable: true, value: function () {
                finalizationRegistry6.unregister(rsc1);
                const handleEntry = rscTableRemove(handleTable6, handle2);
                rsc1[symbolDispose] = emptyFunc;
                rsc1[symbolRscHandle] = undefined;
                exports0['2'](handleEntry.rep);
              }});
              _debugLog('[iface="graph-host:walker/host@0.1.0", function="[constructor]random"][Instruction::Return]', {
                funcName: '[constructor]random',
                paramCount: 1,
                async: false,
                postReturn: false
              });
              task.resolve([rsc1]);
              task.exit();
              return rsc1;
              
            } catch (err) {
              if (!task.isResolvedState()) {
                task.setErrored(err);
                task.reject(err);
              }
              if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
              throw err;
            }
          },
        });
        
      }
    }
    let host010MethodRandomBytes;
    
    Random.prototype.bytes = function bytes(arg1) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'host010MethodRandomBytes',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable6[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Random\" resource.');
            }
            var handle0 = handleTable6[(handle1 << 1) + 1] & ~T_FLAG;
            
            _debugLog('[iface="graph-host:walker/host@0.1.0", function="[method]random.bytes"][Instruction::CallWasm] enter', {
              funcName: '[method]random.bytes',
              paramCount: 2,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => host010MethodRandomBytes(handle0, toUint32(arg1)),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            var ptr2 = dataView(memory0).getUint32(ret + 0, true);
            var len2 = dataView(memory0).getUint32(ret + 4, true);
            if (ptr2 % 1 !== 0) throw new TypeError(`list pointer [${ptr2}] is not aligned to 1`);
            var result2 = new Uint8Array(memory0.buffer.slice(ptr2, ptr2 + len2 * 1));
            _debugLog('[iface="graph-host:walker/host@0.1.0", function="[method]random.bytes"][Instruction::Return]', {
              funcName: '[method]random.bytes',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            task.resolve([result2]);
            const retCopy = result2;
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn0(ret);
            cstate.mayLeave = true;
            task.exit();
            return retCopy;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let host010MethodRandomNumber;
    
    Random.prototype.number = function number() {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'host010MethodRandomNumber',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (null!== null) {
        task.setReturnMemoryIdx(null);
        task.setReturnMemory((() => null)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable6[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Random\" resource.');
            }
            var handle0 = handleTable6[(handle1 << 1) + 1] & ~T_FLAG;
            
            _debugLog('[iface="graph-host:walker/host@0.1.0", function="[method]random.number"][Instruction::CallWasm] enter', {
              funcName: '[method]random.number',
              paramCount: 1,
              async: false,
              postReturn: false,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => host010MethodRandomNumber(handle0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            _debugLog('[iface="graph-host:walker/host@0.1.0", function="[method]random.number"][Instruction::Return]', {
              funcName: '[method]random.number',
              paramCount: 1,
              async: false,
              postReturn: false
            });
            task.resolve([BigInt.asUintN(64, BigInt(ret))]);
            task.exit();
            return BigInt.asUintN(64, BigInt(ret));
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    
    const handleTable7 = [T_FLAG, 0];
    handleTable7._createdReps = new Set();
    handleTable7._componentIdx = 0;
    const finalizationRegistry7 = finalizationRegistryCreate((handle) => {
      const { rep } = rscTableRemove(handleTable7, handle);
      exports0['1'](rep);
    });
    
    HANDLE_TABLES[7] = handleTable7;
    let host010StaticOutgoingOpen;
    
    class Outgoing{
      constructor () {
        throw new Error('"Outgoing" resource does not define a constructor');
      }
    }
    
    Outgoing.open = function open(arg0, arg1) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'host010StaticOutgoingOpen',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            var vec4 = arg1;
            var len4 = vec4.length;
            var result4 = realloc0(0, 0, 4, len4 * 16);
            for (let i = 0; i < vec4.length; i++) {
              const e = vec4[i];
              const base = result4 + i * 16;var [tuple1_0, tuple1_1] = e;
              
              var encodeRes = _utf8AllocateAndEncode(tuple1_0, realloc0, memory0);
              var ptr2= encodeRes.ptr;
              var len2 = encodeRes.len;
              
              dataView(memory0).setUint32(base + 4, len2, true);
              dataView(memory0).setUint32(base + 0, ptr2, true);
              
              var encodeRes = _utf8AllocateAndEncode(tuple1_1, realloc0, memory0);
              var ptr3= encodeRes.ptr;
              var len3 = encodeRes.len;
              
              dataView(memory0).setUint32(base + 12, len3, true);
              dataView(memory0).setUint32(base + 8, ptr3, true);
            }
            _debugLog('[iface="graph-host:walker/host@0.1.0", function="[static]outgoing.open"][Instruction::CallWasm] enter', {
              funcName: '[static]outgoing.open',
              paramCount: 4,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => host010StaticOutgoingOpen(ptr0, len0, result4, len4),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant8;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var handle6 = dataView(memory0).getInt32(ret + 4, true);
                var rsc5 = new.target === Outgoing ? this : Object.create(Outgoing.prototype);
                Object.defineProperty(rsc5, symbolRscHandle, { writable: true, value: handle6});
                finalizationRegistry7.register(rsc5, handle6, rsc5);
                Object.defineProperty(rsc5, symbolDispose, { writable: true, value: function () {
                  finalizationRegistry7.unregister(rsc5);
                  const handleEntry = rscTableRemove(handleTable7, handle6);
                  rsc5[symbolDispose] = emptyFunc;
                  rsc5[symbolRscHandle] = undefined;
                  exports0['1'](handleEntry.rep);
                }});
                variant8= {
                  tag: 'ok',
                  val: rsc5
                };
                break;
              }
              case 1: {
                var ptr7 = dataView(memory0).getUint32(ret + 4, true);
                var len7 = dataView(memory0).getUint32(ret + 8, true);
                var result7 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr7, len7));
                variant8= {
                  tag: 'err',
                  val: result7
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/host@0.1.0", function="[static]outgoing.open"][Instruction::Return]', {
              funcName: '[static]outgoing.open',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant8;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn2(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let host010MethodOutgoingPrepare;
    
    Outgoing.prototype.prepare = function prepare(arg1, arg2, arg3, arg4, arg5) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'host010MethodOutgoingPrepare',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable7[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Outgoing\" resource.');
            }
            var handle0 = handleTable7[(handle1 << 1) + 1] & ~T_FLAG;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg2, realloc0, memory0);
            var ptr3= encodeRes.ptr;
            var len3 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg4, realloc0, memory0);
            var ptr4= encodeRes.ptr;
            var len4 = encodeRes.len;
            
            var vec8 = arg5;
            var len8 = vec8.length;
            var result8 = realloc0(0, 0, 4, len8 * 16);
            for (let i = 0; i < vec8.length; i++) {
              const e = vec8[i];
              const base = result8 + i * 16;var [tuple5_0, tuple5_1] = e;
              
              var encodeRes = _utf8AllocateAndEncode(tuple5_0, realloc0, memory0);
              var ptr6= encodeRes.ptr;
              var len6 = encodeRes.len;
              
              dataView(memory0).setUint32(base + 4, len6, true);
              dataView(memory0).setUint32(base + 0, ptr6, true);
              var val7 = tuple5_1;
              var len7 = Array.isArray(val7) ? val7.length : val7.byteLength;
              var ptr7 = realloc0(0, 0, 1, len7 * 1);
              
              let valData7;
              const valLenBytes7 = len7 * 1;
              if (Array.isArray(val7)) {
                // Regular array likely containing numbers, write values to memory
                let offset = 0;
                const dv7 = new DataView(memory0.buffer);
                for (const v of val7) {
                  _requireValidNumericPrimitive.bind(null, 'u8')(v);
                  dv7.setUint8(ptr7+ offset, v, true);
                  offset += 1;
                }
              } else {
                // TypedArray / ArrayBuffer-like, direct copy
                valData7 = new Uint8Array(val7.buffer || val7, val7.byteOffset, valLenBytes7);
                const out7 = new Uint8Array(memory0.buffer, ptr7, valLenBytes7);
                out7.set(valData7);
              }
              
              dataView(memory0).setUint32(base + 12, len7, true);
              dataView(memory0).setUint32(base + 8, ptr7, true);
            }
            _debugLog('[iface="graph-host:walker/host@0.1.0", function="[method]outgoing.prepare"][Instruction::CallWasm] enter', {
              funcName: '[method]outgoing.prepare',
              paramCount: 10,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => host010MethodOutgoingPrepare(handle0, ptr2, len2, ptr3, len3, toUint16(arg3), ptr4, len4, result8, len8),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant13;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var len11 = dataView(memory0).getUint32(ret + 8, true);
                var base11 = dataView(memory0).getUint32(ret + 4, true);
                if (base11 % 4 !== 0) throw new TypeError(`list pointer [${base11}] is not aligned to 4`);
                var result11 = [];
                for (let i = 0; i < len11; i++) {
                  const base = base11 + i * 16;
                  var ptr9 = dataView(memory0).getUint32(base + 0, true);
                  var len9 = dataView(memory0).getUint32(base + 4, true);
                  var result9 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr9, len9));
                  var ptr10 = dataView(memory0).getUint32(base + 8, true);
                  var len10 = dataView(memory0).getUint32(base + 12, true);
                  if (ptr10 % 1 !== 0) throw new TypeError(`list pointer [${ptr10}] is not aligned to 1`);
                  var result10 = new Uint8Array(memory0.buffer.slice(ptr10, ptr10 + len10 * 1));
                  result11.push([result9, result10]);
                }
                variant13= {
                  tag: 'ok',
                  val: result11
                };
                break;
              }
              case 1: {
                var ptr12 = dataView(memory0).getUint32(ret + 4, true);
                var len12 = dataView(memory0).getUint32(ret + 8, true);
                var result12 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr12, len12));
                variant13= {
                  tag: 'err',
                  val: result12
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/host@0.1.0", function="[method]outgoing.prepare"][Instruction::Return]', {
              funcName: '[method]outgoing.prepare',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant13;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn4(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let host010MethodOutgoingReceive;
    
    Outgoing.prototype.receive = function receive(arg1, arg2, arg3, arg4) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'host010MethodOutgoingReceive',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable7[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Outgoing\" resource.');
            }
            var handle0 = handleTable7[(handle1 << 1) + 1] & ~T_FLAG;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            var vec6 = arg3;
            var len6 = vec6.length;
            var result6 = realloc0(0, 0, 4, len6 * 16);
            for (let i = 0; i < vec6.length; i++) {
              const e = vec6[i];
              const base = result6 + i * 16;var [tuple3_0, tuple3_1] = e;
              
              var encodeRes = _utf8AllocateAndEncode(tuple3_0, realloc0, memory0);
              var ptr4= encodeRes.ptr;
              var len4 = encodeRes.len;
              
              dataView(memory0).setUint32(base + 4, len4, true);
              dataView(memory0).setUint32(base + 0, ptr4, true);
              var val5 = tuple3_1;
              var len5 = Array.isArray(val5) ? val5.length : val5.byteLength;
              var ptr5 = realloc0(0, 0, 1, len5 * 1);
              
              let valData5;
              const valLenBytes5 = len5 * 1;
              if (Array.isArray(val5)) {
                // Regular array likely containing numbers, write values to memory
                let offset = 0;
                const dv5 = new DataView(memory0.buffer);
                for (const v of val5) {
                  _requireValidNumericPrimitive.bind(null, 'u8')(v);
                  dv5.setUint8(ptr5+ offset, v, true);
                  offset += 1;
                }
              } else {
                // TypedArray / ArrayBuffer-like, direct copy
                valData5 = new Uint8Array(val5.buffer || val5, val5.byteOffset, valLenBytes5);
                const out5 = new Uint8Array(memory0.buffer, ptr5, valLenBytes5);
                out5.set(valData5);
              }
              
              dataView(memory0).setUint32(base + 12, len5, true);
              dataView(memory0).setUint32(base + 8, ptr5, true);
            }
            var val7 = arg4;
            var len7 = Array.isArray(val7) ? val7.length : val7.byteLength;
            var ptr7 = realloc0(0, 0, 1, len7 * 1);
            
            let valData7;
            const valLenBytes7 = len7 * 1;
            if (Array.isArray(val7)) {
              // Regular array likely containing numbers, write values to memory
              let offset = 0;
              const dv7 = new DataView(memory0.buffer);
              for (const v of val7) {
                _requireValidNumericPrimitive.bind(null, 'u8')(v);
                dv7.setUint8(ptr7+ offset, v, true);
                offset += 1;
              }
            } else {
              // TypedArray / ArrayBuffer-like, direct copy
              valData7 = new Uint8Array(val7.buffer || val7, val7.byteOffset, valLenBytes7);
              const out7 = new Uint8Array(memory0.buffer, ptr7, valLenBytes7);
              out7.set(valData7);
            }
            
            _debugLog('[iface="graph-host:walker/host@0.1.0", function="[method]outgoing.receive"][Instruction::CallWasm] enter', {
              funcName: '[method]outgoing.receive',
              paramCount: 8,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => host010MethodOutgoingReceive(handle0, ptr2, len2, toUint16(arg2), result6, len6, ptr7, len7),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant13;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var len10 = dataView(memory0).getUint32(ret + 8, true);
                var base10 = dataView(memory0).getUint32(ret + 4, true);
                if (base10 % 4 !== 0) throw new TypeError(`list pointer [${base10}] is not aligned to 4`);
                var result10 = [];
                for (let i = 0; i < len10; i++) {
                  const base = base10 + i * 16;
                  var ptr8 = dataView(memory0).getUint32(base + 0, true);
                  var len8 = dataView(memory0).getUint32(base + 4, true);
                  var result8 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr8, len8));
                  var ptr9 = dataView(memory0).getUint32(base + 8, true);
                  var len9 = dataView(memory0).getUint32(base + 12, true);
                  if (ptr9 % 1 !== 0) throw new TypeError(`list pointer [${ptr9}] is not aligned to 1`);
                  var result9 = new Uint8Array(memory0.buffer.slice(ptr9, ptr9 + len9 * 1));
                  result10.push([result8, result9]);
                }
                var ptr11 = dataView(memory0).getUint32(ret + 12, true);
                var len11 = dataView(memory0).getUint32(ret + 16, true);
                if (ptr11 % 1 !== 0) throw new TypeError(`list pointer [${ptr11}] is not aligned to 1`);
                var result11 = new Uint8Array(memory0.buffer.slice(ptr11, ptr11 + len11 * 1));
                variant13= {
                  tag: 'ok',
                  val: [result10, result11]
                };
                break;
              }
              case 1: {
                var ptr12 = dataView(memory0).getUint32(ret + 4, true);
                var len12 = dataView(memory0).getUint32(ret + 8, true);
                var result12 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr12, len12));
                variant13= {
                  tag: 'err',
                  val: result12
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/host@0.1.0", function="[method]outgoing.receive"][Instruction::Return]', {
              funcName: '[method]outgoing.receive',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant13;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn5(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    
    const handleTable8 = [T_FLAG, 0];
    handleTable8._createdReps = new Set();
    handleTable8._componentIdx = 0;
    const finalizationRegistry8 = finalizationRegistryCreate((handle) => {
      const { rep } = rscTableRemove(handleTable8, handle);
      exports0['3'](rep);
    });
    
    HANDLE_TABLES[8] = handleTable8;
    let host010StaticRankingOpen;
    
    class Ranking{
      constructor () {
        throw new Error('"Ranking" resource does not define a constructor');
      }
    }
    
    Ranking.open = function open(arg0, arg1, arg2) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'host010StaticRankingOpen',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr1= encodeRes.ptr;
            var len1 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/host@0.1.0", function="[static]ranking.open"][Instruction::CallWasm] enter', {
              funcName: '[static]ranking.open',
              paramCount: 5,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => host010StaticRankingOpen(ptr0, len0, ptr1, len1, toUint32(arg2)),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant5;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var handle3 = dataView(memory0).getInt32(ret + 4, true);
                var rsc2 = new.target === Ranking ? this : Object.create(Ranking.prototype);
                Object.defineProperty(rsc2, symbolRscHandle, { writable: true, value: handle3});
                finalizationRegistry8.register(rsc2, handle3, rsc2);
                Object.defineProperty(rsc2, symbolDispose, { writable: true, value: function () {
                  finalizationRegistry8.unregister(rsc2);
                  const handleEntry = rscTableRemove(handleTable8, handle3);
                  rsc2[symbolDispose] = emptyFunc;
                  rsc2[symbolRscHandle] = undefined;
                  exports0['3'](handleEntry.rep);
                }});
                variant5= {
                  tag: 'ok',
                  val: rsc2
                };
                break;
              }
              case 1: {
                var ptr4 = dataView(memory0).getUint32(ret + 4, true);
                var len4 = dataView(memory0).getUint32(ret + 8, true);
                var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                variant5= {
                  tag: 'err',
                  val: result4
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/host@0.1.0", function="[static]ranking.open"][Instruction::Return]', {
              funcName: '[static]ranking.open',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant5;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn2(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let host010MethodRankingAdd;
    
    Ranking.prototype.add = function add(arg1, arg2) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'host010MethodRankingAdd',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable8[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Ranking\" resource.');
            }
            var handle0 = handleTable8[(handle1 << 1) + 1] & ~T_FLAG;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg2, realloc0, memory0);
            var ptr3= encodeRes.ptr;
            var len3 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/host@0.1.0", function="[method]ranking.add"][Instruction::CallWasm] enter', {
              funcName: '[method]ranking.add',
              paramCount: 5,
              async: false,
              postReturn: false,
            });
            
            let ret;
            
            try {
              _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => host010MethodRankingAdd(handle0, ptr2, len2, ptr3, len3),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            _debugLog('[iface="graph-host:walker/host@0.1.0", function="[method]ranking.add"][Instruction::Return]', {
              funcName: '[method]ranking.add',
              paramCount: 0,
              async: false,
              postReturn: false
            });
            task.resolve([ret]);
            task.exit();
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let host010MethodRankingBest;
    
    Ranking.prototype.best = function best() {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'host010MethodRankingBest',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable8[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Ranking\" resource.');
            }
            var handle0 = handleTable8[(handle1 << 1) + 1] & ~T_FLAG;
            
            _debugLog('[iface="graph-host:walker/host@0.1.0", function="[method]ranking.best"][Instruction::CallWasm] enter', {
              funcName: '[method]ranking.best',
              paramCount: 1,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => host010MethodRankingBest(handle0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            var len3 = dataView(memory0).getUint32(ret + 4, true);
            var base3 = dataView(memory0).getUint32(ret + 0, true);
            if (base3 % 4 !== 0) throw new TypeError(`list pointer [${base3}] is not aligned to 4`);
            var result3 = [];
            for (let i = 0; i < len3; i++) {
              const base = base3 + i * 8;
              var ptr2 = dataView(memory0).getUint32(base + 0, true);
              var len2 = dataView(memory0).getUint32(base + 4, true);
              var result2 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr2, len2));
              result3.push(result2);
            }
            _debugLog('[iface="graph-host:walker/host@0.1.0", function="[method]ranking.best"][Instruction::Return]', {
              funcName: '[method]ranking.best',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            task.resolve([result3]);
            const retCopy = result3;
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn6(ret);
            cstate.mayLeave = true;
            task.exit();
            return retCopy;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let host010MethodRankingExcerpt;
    
    Ranking.prototype.excerpt = function excerpt(arg1) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'host010MethodRankingExcerpt',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable8[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Ranking\" resource.');
            }
            var handle0 = handleTable8[(handle1 << 1) + 1] & ~T_FLAG;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/host@0.1.0", function="[method]ranking.excerpt"][Instruction::CallWasm] enter', {
              funcName: '[method]ranking.excerpt',
              paramCount: 3,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => host010MethodRankingExcerpt(handle0, ptr2, len2),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            var ptr3 = dataView(memory0).getUint32(ret + 0, true);
            var len3 = dataView(memory0).getUint32(ret + 4, true);
            var result3 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr3, len3));
            _debugLog('[iface="graph-host:walker/host@0.1.0", function="[method]ranking.excerpt"][Instruction::Return]', {
              funcName: '[method]ranking.excerpt',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            task.resolve([result3]);
            const retCopy = result3;
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn0(ret);
            cstate.mayLeave = true;
            task.exit();
            return retCopy;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let host010ReadJson;
    
    function readJson(arg0) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'host010ReadJson',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/host@0.1.0", function="read-json"][Instruction::CallWasm] enter', {
              funcName: 'read-json',
              paramCount: 2,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => host010ReadJson(ptr0, len0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant3;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr1 = dataView(memory0).getUint32(ret + 4, true);
                var len1 = dataView(memory0).getUint32(ret + 8, true);
                var result1 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr1, len1));
                variant3= {
                  tag: 'ok',
                  val: result1
                };
                break;
              }
              case 1: {
                var ptr2 = dataView(memory0).getUint32(ret + 4, true);
                var len2 = dataView(memory0).getUint32(ret + 8, true);
                var result2 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr2, len2));
                variant3= {
                  tag: 'err',
                  val: result2
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/host@0.1.0", function="read-json"][Instruction::Return]', {
              funcName: 'read-json',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant3;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn7(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    }
    let host010CallSeed;
    
    function callSeed(arg0, arg1, arg2) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'host010CallSeed',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            var val0 = arg0;
            var len0 = Array.isArray(val0) ? val0.length : val0.byteLength;
            var ptr0 = realloc0(0, 0, 1, len0 * 1);
            
            let valData0;
            const valLenBytes0 = len0 * 1;
            if (Array.isArray(val0)) {
              // Regular array likely containing numbers, write values to memory
              let offset = 0;
              const dv0 = new DataView(memory0.buffer);
              for (const v of val0) {
                _requireValidNumericPrimitive.bind(null, 'u8')(v);
                dv0.setUint8(ptr0+ offset, v, true);
                offset += 1;
              }
            } else {
              // TypedArray / ArrayBuffer-like, direct copy
              valData0 = new Uint8Array(val0.buffer || val0, val0.byteOffset, valLenBytes0);
              const out0 = new Uint8Array(memory0.buffer, ptr0, valLenBytes0);
              out0.set(valData0);
            }
            
            
            var encodeRes = _utf8AllocateAndEncode(arg2, realloc0, memory0);
            var ptr1= encodeRes.ptr;
            var len1 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/host@0.1.0", function="call-seed"][Instruction::CallWasm] enter', {
              funcName: 'call-seed',
              paramCount: 5,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => host010CallSeed(ptr0, len0, toUint64(arg1), ptr1, len1),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            var ptr2 = dataView(memory0).getUint32(ret + 0, true);
            var len2 = dataView(memory0).getUint32(ret + 4, true);
            if (ptr2 % 1 !== 0) throw new TypeError(`list pointer [${ptr2}] is not aligned to 1`);
            var result2 = new Uint8Array(memory0.buffer.slice(ptr2, ptr2 + len2 * 1));
            _debugLog('[iface="graph-host:walker/host@0.1.0", function="call-seed"][Instruction::Return]', {
              funcName: 'call-seed',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            task.resolve([result2]);
            const retCopy = result2;
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn0(ret);
            cstate.mayLeave = true;
            task.exit();
            return retCopy;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    }
    
    const handleTable5 = [T_FLAG, 0];
    handleTable5._createdReps = new Set();
    handleTable5._componentIdx = 0;
    const finalizationRegistry5 = finalizationRegistryCreate((handle) => {
      const { rep } = rscTableRemove(handleTable5, handle);
      exports0['0'](rep);
    });
    
    HANDLE_TABLES[5] = handleTable5;
    let functions010StaticFunctionCallOpen;
    
    class FunctionCall{
      constructor () {
        throw new Error('"FunctionCall" resource does not define a constructor');
      }
    }
    
    FunctionCall.open = function open(arg0, arg1) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'functions010StaticFunctionCallOpen',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr1= encodeRes.ptr;
            var len1 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/functions@0.1.0", function="[static]function-call.open"][Instruction::CallWasm] enter', {
              funcName: '[static]function-call.open',
              paramCount: 4,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => functions010StaticFunctionCallOpen(ptr0, len0, ptr1, len1),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant5;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var handle3 = dataView(memory0).getInt32(ret + 4, true);
                var rsc2 = new.target === FunctionCall ? this : Object.create(FunctionCall.prototype);
                Object.defineProperty(rsc2, symbolRscHandle, { writable: true, value: handle3});
                finalizationRegistry5.register(rsc2, handle3, rsc2);
                Object.defineProperty(rsc2, symbolDispose, { writable: true, value: function () {
                  finalizationRegistry5.unregister(rsc2);
                  const handleEntry = rscTableRemove(handleTable5, handle3);
                  rsc2[symbolDispose] = emptyFunc;
                  rsc2[symbolRscHandle] = undefined;
                  exports0['0'](handleEntry.rep);
                }});
                variant5= {
                  tag: 'ok',
                  val: rsc2
                };
                break;
              }
              case 1: {
                var ptr4 = dataView(memory0).getUint32(ret + 4, true);
                var len4 = dataView(memory0).getUint32(ret + 8, true);
                var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                variant5= {
                  tag: 'err',
                  val: result4
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/functions@0.1.0", function="[static]function-call.open"][Instruction::Return]', {
              funcName: '[static]function-call.open',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant5;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn2(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let functions010MethodFunctionCallValues;
    
    FunctionCall.prototype.values = function values() {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'functions010MethodFunctionCallValues',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable5[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"FunctionCall\" resource.');
            }
            var handle0 = handleTable5[(handle1 << 1) + 1] & ~T_FLAG;
            
            _debugLog('[iface="graph-host:walker/functions@0.1.0", function="[method]function-call.values"][Instruction::CallWasm] enter', {
              funcName: '[method]function-call.values',
              paramCount: 1,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => functions010MethodFunctionCallValues(handle0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            var ptr2 = dataView(memory0).getUint32(ret + 0, true);
            var len2 = dataView(memory0).getUint32(ret + 4, true);
            var result2 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr2, len2));
            _debugLog('[iface="graph-host:walker/functions@0.1.0", function="[method]function-call.values"][Instruction::Return]', {
              funcName: '[method]function-call.values',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            task.resolve([result2]);
            const retCopy = result2;
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn0(ret);
            cstate.mayLeave = true;
            task.exit();
            return retCopy;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let functions010MethodFunctionCallAnswer;
    
    FunctionCall.prototype.answer = function answer(arg1, arg2) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'functions010MethodFunctionCallAnswer',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable5[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"FunctionCall\" resource.');
            }
            var handle0 = handleTable5[(handle1 << 1) + 1] & ~T_FLAG;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/functions@0.1.0", function="[method]function-call.answer"][Instruction::CallWasm] enter', {
              funcName: '[method]function-call.answer',
              paramCount: 4,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => functions010MethodFunctionCallAnswer(handle0, ptr2, len2, toUint64(arg2)),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant10;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr3 = dataView(memory0).getUint32(ret + 4, true);
                var len3 = dataView(memory0).getUint32(ret + 8, true);
                var result3 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr3, len3));
                variant10= {
                  tag: 'ok',
                  val: result3
                };
                break;
              }
              case 1: {
                var ptr4 = dataView(memory0).getUint32(ret + 4, true);
                var len4 = dataView(memory0).getUint32(ret + 8, true);
                var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                var ptr5 = dataView(memory0).getUint32(ret + 12, true);
                var len5 = dataView(memory0).getUint32(ret + 16, true);
                var result5 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr5, len5));
                let variant7;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant7 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr6 = dataView(memory0).getUint32(ret + 24, true);
                    var len6 = dataView(memory0).getUint32(ret + 28, true);
                    var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                    variant7 = result6;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant9;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant9 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr8 = dataView(memory0).getUint32(ret + 36, true);
                    var len8 = dataView(memory0).getUint32(ret + 40, true);
                    var result8 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr8, len8));
                    variant9 = result8;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant10= {
                  tag: 'err',
                  val: {
                    code: result4,
                    message: result5,
                    help: variant7,
                    details: variant9,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/functions@0.1.0", function="[method]function-call.answer"][Instruction::Return]', {
              funcName: '[method]function-call.answer',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant10;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn1(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let functions010MethodFunctionCallWork;
    
    FunctionCall.prototype.work = function work() {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'functions010MethodFunctionCallWork',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (null!== null) {
        task.setReturnMemoryIdx(null);
        task.setReturnMemory((() => null)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable5[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"FunctionCall\" resource.');
            }
            var handle0 = handleTable5[(handle1 << 1) + 1] & ~T_FLAG;
            
            _debugLog('[iface="graph-host:walker/functions@0.1.0", function="[method]function-call.work"][Instruction::CallWasm] enter', {
              funcName: '[method]function-call.work',
              paramCount: 1,
              async: false,
              postReturn: false,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => functions010MethodFunctionCallWork(handle0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            _debugLog('[iface="graph-host:walker/functions@0.1.0", function="[method]function-call.work"][Instruction::Return]', {
              funcName: '[method]function-call.work',
              paramCount: 1,
              async: false,
              postReturn: false
            });
            task.resolve([BigInt.asUintN(64, BigInt(ret))]);
            task.exit();
            return BigInt.asUintN(64, BigInt(ret));
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    
    const handleTable2 = [T_FLAG, 0];
    handleTable2._createdReps = new Set();
    handleTable2._componentIdx = 0;
    const finalizationRegistry2 = finalizationRegistryCreate((handle) => {
      const { rep } = rscTableRemove(handleTable2, handle);
      exports0['4'](rep);
    });
    
    HANDLE_TABLES[2] = handleTable2;
    let models010StaticBudgetOpen;
    
    class Budget{
      constructor () {
        throw new Error('"Budget" resource does not define a constructor');
      }
    }
    
    Budget.open = function open(arg0) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'models010StaticBudgetOpen',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            var vec1 = arg0;
            var len1 = vec1.length;
            var result1 = realloc0(0, 0, 4, len1 * 8);
            for (let i = 0; i < vec1.length; i++) {
              const e = vec1[i];
              const base = result1 + i * 8;
              var encodeRes = _utf8AllocateAndEncode(e, realloc0, memory0);
              var ptr0= encodeRes.ptr;
              var len0 = encodeRes.len;
              
              dataView(memory0).setUint32(base + 4, len0, true);
              dataView(memory0).setUint32(base + 0, ptr0, true);
            }
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[static]budget.open"][Instruction::CallWasm] enter', {
              funcName: '[static]budget.open',
              paramCount: 2,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => models010StaticBudgetOpen(result1, len1),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant10;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var handle3 = dataView(memory0).getInt32(ret + 4, true);
                var rsc2 = new.target === Budget ? this : Object.create(Budget.prototype);
                Object.defineProperty(rsc2, symbolRscHandle, { writable: true, value: handle3});
                finalizationRegistry2.register(rsc2, handle3, rsc2);
                Object.defineProperty(rsc2, symbolDispose, { writable: true, value: function () {
                  finalizationRegistry2.unregister(rsc2);
                  const handleEntry = rscTableRemove(handleTable2, handle3);
                  rsc2[symbolDispose] = emptyFunc;
                  rsc2[symbolRscHandle] = undefined;
                  exports0['4'](handleEntry.rep);
                }});
                variant10= {
                  tag: 'ok',
                  val: rsc2
                };
                break;
              }
              case 1: {
                var ptr4 = dataView(memory0).getUint32(ret + 4, true);
                var len4 = dataView(memory0).getUint32(ret + 8, true);
                var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                var ptr5 = dataView(memory0).getUint32(ret + 12, true);
                var len5 = dataView(memory0).getUint32(ret + 16, true);
                var result5 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr5, len5));
                let variant7;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant7 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr6 = dataView(memory0).getUint32(ret + 24, true);
                    var len6 = dataView(memory0).getUint32(ret + 28, true);
                    var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                    variant7 = result6;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant9;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant9 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr8 = dataView(memory0).getUint32(ret + 36, true);
                    var len8 = dataView(memory0).getUint32(ret + 40, true);
                    var result8 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr8, len8));
                    variant9 = result8;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant10= {
                  tag: 'err',
                  val: {
                    code: result4,
                    message: result5,
                    help: variant7,
                    details: variant9,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[static]budget.open"][Instruction::Return]', {
              funcName: '[static]budget.open',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant10;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn3(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let models010MethodBudgetInside;
    
    Budget.prototype.inside = function inside(arg1) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'models010MethodBudgetInside',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable2[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Budget\" resource.');
            }
            var handle0 = handleTable2[(handle1 << 1) + 1] & ~T_FLAG;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]budget.inside"][Instruction::CallWasm] enter', {
              funcName: '[method]budget.inside',
              paramCount: 3,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => models010MethodBudgetInside(handle0, ptr2, len2),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant11;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var handle4 = dataView(memory0).getInt32(ret + 4, true);
                var rsc3 = new.target === Budget ? this : Object.create(Budget.prototype);
                Object.defineProperty(rsc3, symbolRscHandle, { writable: true, value: handle4});
                finalizationRegistry2.register(rsc3, handle4, rsc3);
                Object.defineProperty(rsc3, symbolDispose, { writable: true, value: function () {
                  finalizationRegistry2.unregister(rsc3);
                  const handleEntry = rscTableRemove(handleTable2, handle4);
                  rsc3[symbolDispose] = emptyFunc;
                  rsc3[symbolRscHandle] = undefined;
                  exports0['4'](handleEntry.rep);
                }});
                variant11= {
                  tag: 'ok',
                  val: rsc3
                };
                break;
              }
              case 1: {
                var ptr5 = dataView(memory0).getUint32(ret + 4, true);
                var len5 = dataView(memory0).getUint32(ret + 8, true);
                var result5 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr5, len5));
                var ptr6 = dataView(memory0).getUint32(ret + 12, true);
                var len6 = dataView(memory0).getUint32(ret + 16, true);
                var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                let variant8;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant8 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr7 = dataView(memory0).getUint32(ret + 24, true);
                    var len7 = dataView(memory0).getUint32(ret + 28, true);
                    var result7 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr7, len7));
                    variant8 = result7;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant10;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant10 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr9 = dataView(memory0).getUint32(ret + 36, true);
                    var len9 = dataView(memory0).getUint32(ret + 40, true);
                    var result9 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr9, len9));
                    variant10 = result9;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant11= {
                  tag: 'err',
                  val: {
                    code: result5,
                    message: result6,
                    help: variant8,
                    details: variant10,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]budget.inside"][Instruction::Return]', {
              funcName: '[method]budget.inside',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant11;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn3(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let models010MethodBudgetCharge;
    
    Budget.prototype.charge = function charge(arg1) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'models010MethodBudgetCharge',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable2[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Budget\" resource.');
            }
            var handle0 = handleTable2[(handle1 << 1) + 1] & ~T_FLAG;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]budget.charge"][Instruction::CallWasm] enter', {
              funcName: '[method]budget.charge',
              paramCount: 3,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => models010MethodBudgetCharge(handle0, ptr2, len2),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant9;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                variant9= {
                  tag: 'ok',
                  val: undefined
                };
                break;
              }
              case 1: {
                var ptr3 = dataView(memory0).getUint32(ret + 4, true);
                var len3 = dataView(memory0).getUint32(ret + 8, true);
                var result3 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr3, len3));
                var ptr4 = dataView(memory0).getUint32(ret + 12, true);
                var len4 = dataView(memory0).getUint32(ret + 16, true);
                var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                let variant6;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant6 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr5 = dataView(memory0).getUint32(ret + 24, true);
                    var len5 = dataView(memory0).getUint32(ret + 28, true);
                    var result5 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr5, len5));
                    variant6 = result5;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant8;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant8 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr7 = dataView(memory0).getUint32(ret + 36, true);
                    var len7 = dataView(memory0).getUint32(ret + 40, true);
                    var result7 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr7, len7));
                    variant8 = result7;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant9= {
                  tag: 'err',
                  val: {
                    code: result3,
                    message: result4,
                    help: variant6,
                    details: variant8,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]budget.charge"][Instruction::Return]', {
              funcName: '[method]budget.charge',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant9;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn3(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let models010MethodBudgetUsed;
    
    Budget.prototype.used = function used() {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'models010MethodBudgetUsed',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable2[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Budget\" resource.');
            }
            var handle0 = handleTable2[(handle1 << 1) + 1] & ~T_FLAG;
            
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]budget.used"][Instruction::CallWasm] enter', {
              funcName: '[method]budget.used',
              paramCount: 1,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => models010MethodBudgetUsed(handle0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            var ptr2 = dataView(memory0).getUint32(ret + 0, true);
            var len2 = dataView(memory0).getUint32(ret + 4, true);
            var result2 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr2, len2));
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]budget.used"][Instruction::Return]', {
              funcName: '[method]budget.used',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            task.resolve([result2]);
            const retCopy = result2;
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn0(ret);
            cstate.mayLeave = true;
            task.exit();
            return retCopy;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let models010MethodBudgetLeft;
    
    Budget.prototype.left = function left() {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'models010MethodBudgetLeft',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable2[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Budget\" resource.');
            }
            var handle0 = handleTable2[(handle1 << 1) + 1] & ~T_FLAG;
            
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]budget.left"][Instruction::CallWasm] enter', {
              funcName: '[method]budget.left',
              paramCount: 1,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => models010MethodBudgetLeft(handle0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            var ptr2 = dataView(memory0).getUint32(ret + 0, true);
            var len2 = dataView(memory0).getUint32(ret + 4, true);
            var result2 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr2, len2));
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]budget.left"][Instruction::Return]', {
              funcName: '[method]budget.left',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            task.resolve([result2]);
            const retCopy = result2;
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn0(ret);
            cstate.mayLeave = true;
            task.exit();
            return retCopy;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    
    const handleTable3 = [T_FLAG, 0];
    handleTable3._createdReps = new Set();
    handleTable3._componentIdx = 0;
    const finalizationRegistry3 = finalizationRegistryCreate((handle) => {
      const { rep } = rscTableRemove(handleTable3, handle);
      exports0['5'](rep);
    });
    
    HANDLE_TABLES[3] = handleTable3;
    let models010StaticCallOpen;
    
    class Call{
      constructor () {
        throw new Error('"Call" resource does not define a constructor');
      }
    }
    
    Call.open = function open(arg0, arg1) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'models010StaticCallOpen',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr1= encodeRes.ptr;
            var len1 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[static]call.open"][Instruction::CallWasm] enter', {
              funcName: '[static]call.open',
              paramCount: 4,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => models010StaticCallOpen(ptr0, len0, ptr1, len1),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant5;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var handle3 = dataView(memory0).getInt32(ret + 4, true);
                var rsc2 = new.target === Call ? this : Object.create(Call.prototype);
                Object.defineProperty(rsc2, symbolRscHandle, { writable: true, value: handle3});
                finalizationRegistry3.register(rsc2, handle3, rsc2);
                Object.defineProperty(rsc2, symbolDispose, { writable: true, value: function () {
                  finalizationRegistry3.unregister(rsc2);
                  const handleEntry = rscTableRemove(handleTable3, handle3);
                  rsc2[symbolDispose] = emptyFunc;
                  rsc2[symbolRscHandle] = undefined;
                  exports0['5'](handleEntry.rep);
                }});
                variant5= {
                  tag: 'ok',
                  val: rsc2
                };
                break;
              }
              case 1: {
                var ptr4 = dataView(memory0).getUint32(ret + 4, true);
                var len4 = dataView(memory0).getUint32(ret + 8, true);
                var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                variant5= {
                  tag: 'err',
                  val: result4
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[static]call.open"][Instruction::Return]', {
              funcName: '[static]call.open',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant5;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn2(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let models010MethodCallAsked;
    
    Call.prototype.asked = function asked() {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'models010MethodCallAsked',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable3[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Call\" resource.');
            }
            var handle0 = handleTable3[(handle1 << 1) + 1] & ~T_FLAG;
            
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]call.asked"][Instruction::CallWasm] enter', {
              funcName: '[method]call.asked',
              paramCount: 1,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => models010MethodCallAsked(handle0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            var ptr2 = dataView(memory0).getUint32(ret + 0, true);
            var len2 = dataView(memory0).getUint32(ret + 4, true);
            var result2 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr2, len2));
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]call.asked"][Instruction::Return]', {
              funcName: '[method]call.asked',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            task.resolve([result2]);
            const retCopy = result2;
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn0(ret);
            cstate.mayLeave = true;
            task.exit();
            return retCopy;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let models010MethodCallBegin;
    
    Call.prototype.begin = function begin(arg1) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'models010MethodCallBegin',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable3[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Call\" resource.');
            }
            var handle0 = handleTable3[(handle1 << 1) + 1] & ~T_FLAG;
            
            
            var handle3 = arg1[symbolRscHandle];
            if (!handle3 || (handleTable2[(handle3 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Budget\" resource.');
            }
            var handle2 = handleTable2[(handle3 << 1) + 1] & ~T_FLAG;
            
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]call.begin"][Instruction::CallWasm] enter', {
              funcName: '[method]call.begin',
              paramCount: 2,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => models010MethodCallBegin(handle0, handle2),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant9;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var len6 = dataView(memory0).getUint32(ret + 8, true);
                var base6 = dataView(memory0).getUint32(ret + 4, true);
                if (base6 % 4 !== 0) throw new TypeError(`list pointer [${base6}] is not aligned to 4`);
                var result6 = [];
                for (let i = 0; i < len6; i++) {
                  const base = base6 + i * 16;
                  var ptr4 = dataView(memory0).getUint32(base + 0, true);
                  var len4 = dataView(memory0).getUint32(base + 4, true);
                  var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                  var ptr5 = dataView(memory0).getUint32(base + 8, true);
                  var len5 = dataView(memory0).getUint32(base + 12, true);
                  if (ptr5 % 1 !== 0) throw new TypeError(`list pointer [${ptr5}] is not aligned to 1`);
                  var result5 = new Uint8Array(memory0.buffer.slice(ptr5, ptr5 + len5 * 1));
                  result6.push([result4, result5]);
                }
                var ptr7 = dataView(memory0).getUint32(ret + 12, true);
                var len7 = dataView(memory0).getUint32(ret + 16, true);
                if (ptr7 % 1 !== 0) throw new TypeError(`list pointer [${ptr7}] is not aligned to 1`);
                var result7 = new Uint8Array(memory0.buffer.slice(ptr7, ptr7 + len7 * 1));
                variant9= {
                  tag: 'ok',
                  val: [result6, result7]
                };
                break;
              }
              case 1: {
                var ptr8 = dataView(memory0).getUint32(ret + 4, true);
                var len8 = dataView(memory0).getUint32(ret + 8, true);
                var result8 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr8, len8));
                variant9= {
                  tag: 'err',
                  val: result8
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]call.begin"][Instruction::Return]', {
              funcName: '[method]call.begin',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant9;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn5(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let models010MethodCallTotal;
    
    Call.prototype.total = function total(arg1) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'models010MethodCallTotal',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable3[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Call\" resource.');
            }
            var handle0 = handleTable3[(handle1 << 1) + 1] & ~T_FLAG;
            
            
            var handle3 = arg1[symbolRscHandle];
            if (!handle3 || (handleTable2[(handle3 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Budget\" resource.');
            }
            var handle2 = handleTable2[(handle3 << 1) + 1] & ~T_FLAG;
            
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]call.total"][Instruction::CallWasm] enter', {
              funcName: '[method]call.total',
              paramCount: 2,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => models010MethodCallTotal(handle0, handle2),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            var ptr4 = dataView(memory0).getUint32(ret + 0, true);
            var len4 = dataView(memory0).getUint32(ret + 4, true);
            var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]call.total"][Instruction::Return]', {
              funcName: '[method]call.total',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            task.resolve([result4]);
            const retCopy = result4;
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn0(ret);
            cstate.mayLeave = true;
            task.exit();
            return retCopy;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let models010MethodCallSettle;
    
    Call.prototype.settle = function settle(arg1, arg2, arg3) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'models010MethodCallSettle',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable3[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Call\" resource.');
            }
            var handle0 = handleTable3[(handle1 << 1) + 1] & ~T_FLAG;
            
            
            var handle3 = arg1[symbolRscHandle];
            if (!handle3 || (handleTable2[(handle3 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Budget\" resource.');
            }
            var handle2 = handleTable2[(handle3 << 1) + 1] & ~T_FLAG;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg2, realloc0, memory0);
            var ptr4= encodeRes.ptr;
            var len4 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]call.settle"][Instruction::CallWasm] enter', {
              funcName: '[method]call.settle',
              paramCount: 5,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => models010MethodCallSettle(handle0, handle2, ptr4, len4, toUint64(arg3)),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant12;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr5 = dataView(memory0).getUint32(ret + 4, true);
                var len5 = dataView(memory0).getUint32(ret + 8, true);
                var result5 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr5, len5));
                variant12= {
                  tag: 'ok',
                  val: result5
                };
                break;
              }
              case 1: {
                var ptr6 = dataView(memory0).getUint32(ret + 4, true);
                var len6 = dataView(memory0).getUint32(ret + 8, true);
                var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                var ptr7 = dataView(memory0).getUint32(ret + 12, true);
                var len7 = dataView(memory0).getUint32(ret + 16, true);
                var result7 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr7, len7));
                let variant9;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant9 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr8 = dataView(memory0).getUint32(ret + 24, true);
                    var len8 = dataView(memory0).getUint32(ret + 28, true);
                    var result8 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr8, len8));
                    variant9 = result8;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant11;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant11 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr10 = dataView(memory0).getUint32(ret + 36, true);
                    var len10 = dataView(memory0).getUint32(ret + 40, true);
                    var result10 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr10, len10));
                    variant11 = result10;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant12= {
                  tag: 'err',
                  val: {
                    code: result6,
                    message: result7,
                    help: variant9,
                    details: variant11,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]call.settle"][Instruction::Return]', {
              funcName: '[method]call.settle',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant12;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn1(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let models010MethodCallLate;
    
    Call.prototype.late = function late(arg1) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'models010MethodCallLate',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable3[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Call\" resource.');
            }
            var handle0 = handleTable3[(handle1 << 1) + 1] & ~T_FLAG;
            
            
            var handle3 = arg1[symbolRscHandle];
            if (!handle3 || (handleTable2[(handle3 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Budget\" resource.');
            }
            var handle2 = handleTable2[(handle3 << 1) + 1] & ~T_FLAG;
            
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]call.late"][Instruction::CallWasm] enter', {
              funcName: '[method]call.late',
              paramCount: 2,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => models010MethodCallLate(handle0, handle2),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            var ptr4 = dataView(memory0).getUint32(ret + 0, true);
            var len4 = dataView(memory0).getUint32(ret + 4, true);
            var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]call.late"][Instruction::Return]', {
              funcName: '[method]call.late',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            task.resolve([result4]);
            const retCopy = result4;
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn0(ret);
            cstate.mayLeave = true;
            task.exit();
            return retCopy;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let models010MethodCallRecorded;
    
    Call.prototype.recorded = function recorded(arg1, arg2) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'models010MethodCallRecorded',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable3[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Call\" resource.');
            }
            var handle0 = handleTable3[(handle1 << 1) + 1] & ~T_FLAG;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]call.recorded"][Instruction::CallWasm] enter', {
              funcName: '[method]call.recorded',
              paramCount: 4,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => models010MethodCallRecorded(handle0, ptr2, len2, arg2 ? 1 : 0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant4;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                variant4 = undefined;
                break;
              }
              case 1: {
                var ptr3 = dataView(memory0).getUint32(ret + 4, true);
                var len3 = dataView(memory0).getUint32(ret + 8, true);
                var result3 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr3, len3));
                variant4 = result3;
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for option');
              }
            }
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]call.recorded"][Instruction::Return]', {
              funcName: '[method]call.recorded',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            task.resolve([variant4]);
            const retCopy = variant4;
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn2(ret);
            cstate.mayLeave = true;
            task.exit();
            return retCopy;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    
    const handleTable4 = [T_FLAG, 0];
    handleTable4._createdReps = new Set();
    handleTable4._componentIdx = 0;
    const finalizationRegistry4 = finalizationRegistryCreate((handle) => {
      const { rep } = rscTableRemove(handleTable4, handle);
      exports0['6'](rep);
    });
    
    HANDLE_TABLES[4] = handleTable4;
    let models010StaticProviderOpen;
    
    class Provider{
      constructor () {
        throw new Error('"Provider" resource does not define a constructor');
      }
    }
    
    Provider.open = function open(arg0, arg1, arg2) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'models010StaticProviderOpen',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr1= encodeRes.ptr;
            var len1 = encodeRes.len;
            
            var variant3 = arg2;
            let variant3_0;
            let variant3_1;
            let variant3_2;
            if (variant3 === null || variant3=== undefined) {
              variant3_0 = 0;
              variant3_1 = 0;
              variant3_2 = 0;
            } else {
              const e = variant3;
              
              var encodeRes = _utf8AllocateAndEncode(e, realloc0, memory0);
              var ptr2= encodeRes.ptr;
              var len2 = encodeRes.len;
              
              variant3_0 = 1;
              variant3_1 = ptr2;
              variant3_2 = len2;
            }
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[static]provider.open"][Instruction::CallWasm] enter', {
              funcName: '[static]provider.open',
              paramCount: 7,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => models010StaticProviderOpen(ptr0, len0, ptr1, len1, variant3_0, variant3_1, variant3_2),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant7;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var handle5 = dataView(memory0).getInt32(ret + 4, true);
                var rsc4 = new.target === Provider ? this : Object.create(Provider.prototype);
                Object.defineProperty(rsc4, symbolRscHandle, { writable: true, value: handle5});
                finalizationRegistry4.register(rsc4, handle5, rsc4);
                Object.defineProperty(rsc4, symbolDispose, { writable: true, value: function () {
                  finalizationRegistry4.unregister(rsc4);
                  const handleEntry = rscTableRemove(handleTable4, handle5);
                  rsc4[symbolDispose] = emptyFunc;
                  rsc4[symbolRscHandle] = undefined;
                  exports0['6'](handleEntry.rep);
                }});
                variant7= {
                  tag: 'ok',
                  val: rsc4
                };
                break;
              }
              case 1: {
                var ptr6 = dataView(memory0).getUint32(ret + 4, true);
                var len6 = dataView(memory0).getUint32(ret + 8, true);
                var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                variant7= {
                  tag: 'err',
                  val: result6
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[static]provider.open"][Instruction::Return]', {
              funcName: '[static]provider.open',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant7;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn2(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let models010MethodProviderPrepare;
    
    Provider.prototype.prepare = function prepare(arg1) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'models010MethodProviderPrepare',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable4[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Provider\" resource.');
            }
            var handle0 = handleTable4[(handle1 << 1) + 1] & ~T_FLAG;
            
            var vec5 = arg1;
            var len5 = vec5.length;
            var result5 = realloc0(0, 0, 4, len5 * 16);
            for (let i = 0; i < vec5.length; i++) {
              const e = vec5[i];
              const base = result5 + i * 16;var [tuple2_0, tuple2_1] = e;
              
              var encodeRes = _utf8AllocateAndEncode(tuple2_0, realloc0, memory0);
              var ptr3= encodeRes.ptr;
              var len3 = encodeRes.len;
              
              dataView(memory0).setUint32(base + 4, len3, true);
              dataView(memory0).setUint32(base + 0, ptr3, true);
              var val4 = tuple2_1;
              var len4 = Array.isArray(val4) ? val4.length : val4.byteLength;
              var ptr4 = realloc0(0, 0, 1, len4 * 1);
              
              let valData4;
              const valLenBytes4 = len4 * 1;
              if (Array.isArray(val4)) {
                // Regular array likely containing numbers, write values to memory
                let offset = 0;
                const dv4 = new DataView(memory0.buffer);
                for (const v of val4) {
                  _requireValidNumericPrimitive.bind(null, 'u8')(v);
                  dv4.setUint8(ptr4+ offset, v, true);
                  offset += 1;
                }
              } else {
                // TypedArray / ArrayBuffer-like, direct copy
                valData4 = new Uint8Array(val4.buffer || val4, val4.byteOffset, valLenBytes4);
                const out4 = new Uint8Array(memory0.buffer, ptr4, valLenBytes4);
                out4.set(valData4);
              }
              
              dataView(memory0).setUint32(base + 12, len4, true);
              dataView(memory0).setUint32(base + 8, ptr4, true);
            }
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]provider.prepare"][Instruction::CallWasm] enter', {
              funcName: '[method]provider.prepare',
              paramCount: 3,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => models010MethodProviderPrepare(handle0, result5, len5),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant11;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr6 = dataView(memory0).getUint32(ret + 8, true);
                var len6 = dataView(memory0).getUint32(ret + 12, true);
                var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                var len9 = dataView(memory0).getUint32(ret + 20, true);
                var base9 = dataView(memory0).getUint32(ret + 16, true);
                if (base9 % 4 !== 0) throw new TypeError(`list pointer [${base9}] is not aligned to 4`);
                var result9 = [];
                for (let i = 0; i < len9; i++) {
                  const base = base9 + i * 16;
                  var ptr7 = dataView(memory0).getUint32(base + 0, true);
                  var len7 = dataView(memory0).getUint32(base + 4, true);
                  var result7 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr7, len7));
                  var ptr8 = dataView(memory0).getUint32(base + 8, true);
                  var len8 = dataView(memory0).getUint32(base + 12, true);
                  if (ptr8 % 1 !== 0) throw new TypeError(`list pointer [${ptr8}] is not aligned to 1`);
                  var result8 = new Uint8Array(memory0.buffer.slice(ptr8, ptr8 + len8 * 1));
                  result9.push([result7, result8]);
                }
                variant11= {
                  tag: 'ok',
                  val: {
                    url: result6,
                    fields: result9,
                    timeout: BigInt.asUintN(64, BigInt(dataView(memory0).getBigInt64(ret + 24, true))),
                  }
                };
                break;
              }
              case 1: {
                var ptr10 = dataView(memory0).getUint32(ret + 8, true);
                var len10 = dataView(memory0).getUint32(ret + 12, true);
                var result10 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr10, len10));
                variant11= {
                  tag: 'err',
                  val: result10
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]provider.prepare"][Instruction::Return]', {
              funcName: '[method]provider.prepare',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant11;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn8(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let models010MethodProviderRead;
    
    Provider.prototype.read = function read(arg1, arg2, arg3, arg4) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'models010MethodProviderRead',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable4[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Provider\" resource.');
            }
            var handle0 = handleTable4[(handle1 << 1) + 1] & ~T_FLAG;
            
            var vec5 = arg2;
            var len5 = vec5.length;
            var result5 = realloc0(0, 0, 4, len5 * 16);
            for (let i = 0; i < vec5.length; i++) {
              const e = vec5[i];
              const base = result5 + i * 16;var [tuple2_0, tuple2_1] = e;
              
              var encodeRes = _utf8AllocateAndEncode(tuple2_0, realloc0, memory0);
              var ptr3= encodeRes.ptr;
              var len3 = encodeRes.len;
              
              dataView(memory0).setUint32(base + 4, len3, true);
              dataView(memory0).setUint32(base + 0, ptr3, true);
              var val4 = tuple2_1;
              var len4 = Array.isArray(val4) ? val4.length : val4.byteLength;
              var ptr4 = realloc0(0, 0, 1, len4 * 1);
              
              let valData4;
              const valLenBytes4 = len4 * 1;
              if (Array.isArray(val4)) {
                // Regular array likely containing numbers, write values to memory
                let offset = 0;
                const dv4 = new DataView(memory0.buffer);
                for (const v of val4) {
                  _requireValidNumericPrimitive.bind(null, 'u8')(v);
                  dv4.setUint8(ptr4+ offset, v, true);
                  offset += 1;
                }
              } else {
                // TypedArray / ArrayBuffer-like, direct copy
                valData4 = new Uint8Array(val4.buffer || val4, val4.byteOffset, valLenBytes4);
                const out4 = new Uint8Array(memory0.buffer, ptr4, valLenBytes4);
                out4.set(valData4);
              }
              
              dataView(memory0).setUint32(base + 12, len4, true);
              dataView(memory0).setUint32(base + 8, ptr4, true);
            }
            var val6 = arg3;
            var len6 = Array.isArray(val6) ? val6.length : val6.byteLength;
            var ptr6 = realloc0(0, 0, 1, len6 * 1);
            
            let valData6;
            const valLenBytes6 = len6 * 1;
            if (Array.isArray(val6)) {
              // Regular array likely containing numbers, write values to memory
              let offset = 0;
              const dv6 = new DataView(memory0.buffer);
              for (const v of val6) {
                _requireValidNumericPrimitive.bind(null, 'u8')(v);
                dv6.setUint8(ptr6+ offset, v, true);
                offset += 1;
              }
            } else {
              // TypedArray / ArrayBuffer-like, direct copy
              valData6 = new Uint8Array(val6.buffer || val6, val6.byteOffset, valLenBytes6);
              const out6 = new Uint8Array(memory0.buffer, ptr6, valLenBytes6);
              out6.set(valData6);
            }
            
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]provider.read"][Instruction::CallWasm] enter', {
              funcName: '[method]provider.read',
              paramCount: 7,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => models010MethodProviderRead(handle0, toUint16(arg1), result5, len5, ptr6, len6, toUint64(arg4)),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            var ptr7 = dataView(memory0).getUint32(ret + 0, true);
            var len7 = dataView(memory0).getUint32(ret + 4, true);
            var result7 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr7, len7));
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]provider.read"][Instruction::Return]', {
              funcName: '[method]provider.read',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            task.resolve([result7]);
            const retCopy = result7;
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn0(ret);
            cstate.mayLeave = true;
            task.exit();
            return retCopy;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let models010MethodProviderFailed;
    
    Provider.prototype.failed = function failed(arg1, arg2, arg3) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'models010MethodProviderFailed',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable4[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Provider\" resource.');
            }
            var handle0 = handleTable4[(handle1 << 1) + 1] & ~T_FLAG;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg2, realloc0, memory0);
            var ptr3= encodeRes.ptr;
            var len3 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]provider.failed"][Instruction::CallWasm] enter', {
              funcName: '[method]provider.failed',
              paramCount: 6,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => models010MethodProviderFailed(handle0, ptr2, len2, ptr3, len3, arg3 ? 1 : 0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            var ptr4 = dataView(memory0).getUint32(ret + 0, true);
            var len4 = dataView(memory0).getUint32(ret + 4, true);
            var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="[method]provider.failed"][Instruction::Return]', {
              funcName: '[method]provider.failed',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            task.resolve([result4]);
            const retCopy = result4;
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn0(ret);
            cstate.mayLeave = true;
            task.exit();
            return retCopy;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let models010UsedIn;
    
    function usedIn(arg0) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'models010UsedIn',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="used-in"][Instruction::CallWasm] enter', {
              funcName: 'used-in',
              paramCount: 2,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => models010UsedIn(ptr0, len0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant8;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr1 = dataView(memory0).getUint32(ret + 4, true);
                var len1 = dataView(memory0).getUint32(ret + 8, true);
                var result1 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr1, len1));
                variant8= {
                  tag: 'ok',
                  val: result1
                };
                break;
              }
              case 1: {
                var ptr2 = dataView(memory0).getUint32(ret + 4, true);
                var len2 = dataView(memory0).getUint32(ret + 8, true);
                var result2 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr2, len2));
                var ptr3 = dataView(memory0).getUint32(ret + 12, true);
                var len3 = dataView(memory0).getUint32(ret + 16, true);
                var result3 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr3, len3));
                let variant5;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant5 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr4 = dataView(memory0).getUint32(ret + 24, true);
                    var len4 = dataView(memory0).getUint32(ret + 28, true);
                    var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                    variant5 = result4;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant7;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant7 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr6 = dataView(memory0).getUint32(ret + 36, true);
                    var len6 = dataView(memory0).getUint32(ret + 40, true);
                    var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                    variant7 = result6;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant8= {
                  tag: 'err',
                  val: {
                    code: result2,
                    message: result3,
                    help: variant5,
                    details: variant7,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/models@0.1.0", function="used-in"][Instruction::Return]', {
              funcName: 'used-in',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant8;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn1(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    }
    
    const handleTable1 = [T_FLAG, 0];
    handleTable1._createdReps = new Set();
    handleTable1._componentIdx = 0;
    const finalizationRegistry1 = finalizationRegistryCreate((handle) => {
      const { rep } = rscTableRemove(handleTable1, handle);
      exports0['8'](rep);
    });
    
    HANDLE_TABLES[1] = handleTable1;
    let runs010StaticRunStart;
    
    class Run{
      constructor () {
        throw new Error('"Run" resource does not define a constructor');
      }
    }
    
    Run.start = function start(arg0) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'runs010StaticRunStart',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/runs@0.1.0", function="[static]run.start"][Instruction::CallWasm] enter', {
              funcName: '[static]run.start',
              paramCount: 2,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => runs010StaticRunStart(ptr0, len0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant9;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var handle2 = dataView(memory0).getInt32(ret + 4, true);
                var rsc1 = new.target === Run ? this : Object.create(Run.prototype);
                Object.defineProperty(rsc1, symbolRscHandle, { writable: true, value: handle2});
                finalizationRegistry1.register(rsc1, handle2, rsc1);
                Object.defineProperty(rsc1, symbolDispose, { writable: true, value: function () {
                  finalizationRegistry1.unregister(rsc1);
                  const handleEntry = rscTableRemove(handleTable1, handle2);
                  rsc1[symbolDispose] = emptyFunc;
                  rsc1[symbolRscHandle] = undefined;
                  exports0['8'](handleEntry.rep);
                }});
                variant9= {
                  tag: 'ok',
                  val: rsc1
                };
                break;
              }
              case 1: {
                var ptr3 = dataView(memory0).getUint32(ret + 4, true);
                var len3 = dataView(memory0).getUint32(ret + 8, true);
                var result3 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr3, len3));
                var ptr4 = dataView(memory0).getUint32(ret + 12, true);
                var len4 = dataView(memory0).getUint32(ret + 16, true);
                var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                let variant6;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant6 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr5 = dataView(memory0).getUint32(ret + 24, true);
                    var len5 = dataView(memory0).getUint32(ret + 28, true);
                    var result5 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr5, len5));
                    variant6 = result5;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant8;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant8 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr7 = dataView(memory0).getUint32(ret + 36, true);
                    var len7 = dataView(memory0).getUint32(ret + 40, true);
                    var result7 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr7, len7));
                    variant8 = result7;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant9= {
                  tag: 'err',
                  val: {
                    code: result3,
                    message: result4,
                    help: variant6,
                    details: variant8,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/runs@0.1.0", function="[static]run.start"][Instruction::Return]', {
              funcName: '[static]run.start',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant9;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn3(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let runs010StaticRunRestore;
    
    Run.restore = function restore(arg0, arg1) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'runs010StaticRunRestore',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr1= encodeRes.ptr;
            var len1 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/runs@0.1.0", function="[static]run.restore"][Instruction::CallWasm] enter', {
              funcName: '[static]run.restore',
              paramCount: 4,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => runs010StaticRunRestore(ptr0, len0, ptr1, len1),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant10;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var handle3 = dataView(memory0).getInt32(ret + 4, true);
                var rsc2 = new.target === Run ? this : Object.create(Run.prototype);
                Object.defineProperty(rsc2, symbolRscHandle, { writable: true, value: handle3});
                finalizationRegistry1.register(rsc2, handle3, rsc2);
                Object.defineProperty(rsc2, symbolDispose, { writable: true, value: function () {
                  finalizationRegistry1.unregister(rsc2);
                  const handleEntry = rscTableRemove(handleTable1, handle3);
                  rsc2[symbolDispose] = emptyFunc;
                  rsc2[symbolRscHandle] = undefined;
                  exports0['8'](handleEntry.rep);
                }});
                variant10= {
                  tag: 'ok',
                  val: rsc2
                };
                break;
              }
              case 1: {
                var ptr4 = dataView(memory0).getUint32(ret + 4, true);
                var len4 = dataView(memory0).getUint32(ret + 8, true);
                var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                var ptr5 = dataView(memory0).getUint32(ret + 12, true);
                var len5 = dataView(memory0).getUint32(ret + 16, true);
                var result5 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr5, len5));
                let variant7;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant7 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr6 = dataView(memory0).getUint32(ret + 24, true);
                    var len6 = dataView(memory0).getUint32(ret + 28, true);
                    var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                    variant7 = result6;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant9;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant9 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr8 = dataView(memory0).getUint32(ret + 36, true);
                    var len8 = dataView(memory0).getUint32(ret + 40, true);
                    var result8 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr8, len8));
                    variant9 = result8;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant10= {
                  tag: 'err',
                  val: {
                    code: result4,
                    message: result5,
                    help: variant7,
                    details: variant9,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/runs@0.1.0", function="[static]run.restore"][Instruction::Return]', {
              funcName: '[static]run.restore',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant10;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn3(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let runs010StaticRunFork;
    
    Run.fork = function fork(arg0, arg1, arg2) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'runs010StaticRunFork',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr1= encodeRes.ptr;
            var len1 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/runs@0.1.0", function="[static]run.fork"][Instruction::CallWasm] enter', {
              funcName: '[static]run.fork',
              paramCount: 5,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => runs010StaticRunFork(ptr0, len0, ptr1, len1, toUint64(arg2)),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant10;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var handle3 = dataView(memory0).getInt32(ret + 4, true);
                var rsc2 = new.target === Run ? this : Object.create(Run.prototype);
                Object.defineProperty(rsc2, symbolRscHandle, { writable: true, value: handle3});
                finalizationRegistry1.register(rsc2, handle3, rsc2);
                Object.defineProperty(rsc2, symbolDispose, { writable: true, value: function () {
                  finalizationRegistry1.unregister(rsc2);
                  const handleEntry = rscTableRemove(handleTable1, handle3);
                  rsc2[symbolDispose] = emptyFunc;
                  rsc2[symbolRscHandle] = undefined;
                  exports0['8'](handleEntry.rep);
                }});
                variant10= {
                  tag: 'ok',
                  val: rsc2
                };
                break;
              }
              case 1: {
                var ptr4 = dataView(memory0).getUint32(ret + 4, true);
                var len4 = dataView(memory0).getUint32(ret + 8, true);
                var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                var ptr5 = dataView(memory0).getUint32(ret + 12, true);
                var len5 = dataView(memory0).getUint32(ret + 16, true);
                var result5 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr5, len5));
                let variant7;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant7 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr6 = dataView(memory0).getUint32(ret + 24, true);
                    var len6 = dataView(memory0).getUint32(ret + 28, true);
                    var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                    variant7 = result6;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant9;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant9 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr8 = dataView(memory0).getUint32(ret + 36, true);
                    var len8 = dataView(memory0).getUint32(ret + 40, true);
                    var result8 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr8, len8));
                    variant9 = result8;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant10= {
                  tag: 'err',
                  val: {
                    code: result4,
                    message: result5,
                    help: variant7,
                    details: variant9,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/runs@0.1.0", function="[static]run.fork"][Instruction::Return]', {
              funcName: '[static]run.fork',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant10;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn3(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let runs010StaticRunVerify;
    
    Run.verify = function verify(arg0, arg1, arg2) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'runs010StaticRunVerify',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr1= encodeRes.ptr;
            var len1 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg2, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/runs@0.1.0", function="[static]run.verify"][Instruction::CallWasm] enter', {
              funcName: '[static]run.verify',
              paramCount: 6,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => runs010StaticRunVerify(ptr0, len0, ptr1, len1, ptr2, len2),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant10;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr3 = dataView(memory0).getUint32(ret + 4, true);
                var len3 = dataView(memory0).getUint32(ret + 8, true);
                var result3 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr3, len3));
                variant10= {
                  tag: 'ok',
                  val: result3
                };
                break;
              }
              case 1: {
                var ptr4 = dataView(memory0).getUint32(ret + 4, true);
                var len4 = dataView(memory0).getUint32(ret + 8, true);
                var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                var ptr5 = dataView(memory0).getUint32(ret + 12, true);
                var len5 = dataView(memory0).getUint32(ret + 16, true);
                var result5 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr5, len5));
                let variant7;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant7 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr6 = dataView(memory0).getUint32(ret + 24, true);
                    var len6 = dataView(memory0).getUint32(ret + 28, true);
                    var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                    variant7 = result6;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant9;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant9 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr8 = dataView(memory0).getUint32(ret + 36, true);
                    var len8 = dataView(memory0).getUint32(ret + 40, true);
                    var result8 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr8, len8));
                    variant9 = result8;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant10= {
                  tag: 'err',
                  val: {
                    code: result4,
                    message: result5,
                    help: variant7,
                    details: variant9,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/runs@0.1.0", function="[static]run.verify"][Instruction::Return]', {
              funcName: '[static]run.verify',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant10;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn1(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let runs010MethodRunHandle;
    
    Run.prototype.handle = function handle(arg1, arg2) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'runs010MethodRunHandle',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable1[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Run\" resource.');
            }
            var handle0 = handleTable1[(handle1 << 1) + 1] & ~T_FLAG;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg2, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/runs@0.1.0", function="[method]run.handle"][Instruction::CallWasm] enter', {
              funcName: '[method]run.handle',
              paramCount: 4,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => runs010MethodRunHandle(handle0, toUint64(arg1), ptr2, len2),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant10;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr3 = dataView(memory0).getUint32(ret + 4, true);
                var len3 = dataView(memory0).getUint32(ret + 8, true);
                var result3 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr3, len3));
                variant10= {
                  tag: 'ok',
                  val: result3
                };
                break;
              }
              case 1: {
                var ptr4 = dataView(memory0).getUint32(ret + 4, true);
                var len4 = dataView(memory0).getUint32(ret + 8, true);
                var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                var ptr5 = dataView(memory0).getUint32(ret + 12, true);
                var len5 = dataView(memory0).getUint32(ret + 16, true);
                var result5 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr5, len5));
                let variant7;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant7 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr6 = dataView(memory0).getUint32(ret + 24, true);
                    var len6 = dataView(memory0).getUint32(ret + 28, true);
                    var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                    variant7 = result6;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant9;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant9 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr8 = dataView(memory0).getUint32(ret + 36, true);
                    var len8 = dataView(memory0).getUint32(ret + 40, true);
                    var result8 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr8, len8));
                    variant9 = result8;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant10= {
                  tag: 'err',
                  val: {
                    code: result4,
                    message: result5,
                    help: variant7,
                    details: variant9,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/runs@0.1.0", function="[method]run.handle"][Instruction::Return]', {
              funcName: '[method]run.handle',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant10;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn1(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let runs010MethodRunSummary;
    
    Run.prototype.summary = function summary() {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'runs010MethodRunSummary',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable1[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Run\" resource.');
            }
            var handle0 = handleTable1[(handle1 << 1) + 1] & ~T_FLAG;
            
            _debugLog('[iface="graph-host:walker/runs@0.1.0", function="[method]run.summary"][Instruction::CallWasm] enter', {
              funcName: '[method]run.summary',
              paramCount: 1,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => runs010MethodRunSummary(handle0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            var ptr2 = dataView(memory0).getUint32(ret + 0, true);
            var len2 = dataView(memory0).getUint32(ret + 4, true);
            var result2 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr2, len2));
            _debugLog('[iface="graph-host:walker/runs@0.1.0", function="[method]run.summary"][Instruction::Return]', {
              funcName: '[method]run.summary',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            task.resolve([result2]);
            const retCopy = result2;
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn0(ret);
            cstate.mayLeave = true;
            task.exit();
            return retCopy;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let runs010MethodRunGrant;
    
    Run.prototype.grant = function grant(arg1, arg2) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'runs010MethodRunGrant',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable1[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Run\" resource.');
            }
            var handle0 = handleTable1[(handle1 << 1) + 1] & ~T_FLAG;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            
            var handle4 = arg2[symbolRscHandle];
            if (!handle4 || (handleTable0[(handle4 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Component\" resource.');
            }
            var handle3 = handleTable0[(handle4 << 1) + 1] & ~T_FLAG;
            
            _debugLog('[iface="graph-host:walker/runs@0.1.0", function="[method]run.grant"][Instruction::CallWasm] enter', {
              funcName: '[method]run.grant',
              paramCount: 4,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => runs010MethodRunGrant(handle0, ptr2, len2, handle3),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant12;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr5 = dataView(memory0).getUint32(ret + 4, true);
                var len5 = dataView(memory0).getUint32(ret + 8, true);
                var result5 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr5, len5));
                variant12= {
                  tag: 'ok',
                  val: result5
                };
                break;
              }
              case 1: {
                var ptr6 = dataView(memory0).getUint32(ret + 4, true);
                var len6 = dataView(memory0).getUint32(ret + 8, true);
                var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                var ptr7 = dataView(memory0).getUint32(ret + 12, true);
                var len7 = dataView(memory0).getUint32(ret + 16, true);
                var result7 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr7, len7));
                let variant9;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant9 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr8 = dataView(memory0).getUint32(ret + 24, true);
                    var len8 = dataView(memory0).getUint32(ret + 28, true);
                    var result8 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr8, len8));
                    variant9 = result8;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant11;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant11 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr10 = dataView(memory0).getUint32(ret + 36, true);
                    var len10 = dataView(memory0).getUint32(ret + 40, true);
                    var result10 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr10, len10));
                    variant11 = result10;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant12= {
                  tag: 'err',
                  val: {
                    code: result6,
                    message: result7,
                    help: variant9,
                    details: variant11,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/runs@0.1.0", function="[method]run.grant"][Instruction::Return]', {
              funcName: '[method]run.grant',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant12;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn1(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let runs010MethodRunCheckCall;
    
    Run.prototype.checkCall = function checkCall(arg1, arg2, arg3) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'runs010MethodRunCheckCall',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable1[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Run\" resource.');
            }
            var handle0 = handleTable1[(handle1 << 1) + 1] & ~T_FLAG;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg2, realloc0, memory0);
            var ptr3= encodeRes.ptr;
            var len3 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/runs@0.1.0", function="[method]run.check-call"][Instruction::CallWasm] enter', {
              funcName: '[method]run.check-call',
              paramCount: 6,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => runs010MethodRunCheckCall(handle0, ptr2, len2, ptr3, len3, toUint32(arg3)),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant10;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                variant10= {
                  tag: 'ok',
                  val: undefined
                };
                break;
              }
              case 1: {
                var ptr4 = dataView(memory0).getUint32(ret + 4, true);
                var len4 = dataView(memory0).getUint32(ret + 8, true);
                var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                var ptr5 = dataView(memory0).getUint32(ret + 12, true);
                var len5 = dataView(memory0).getUint32(ret + 16, true);
                var result5 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr5, len5));
                let variant7;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant7 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr6 = dataView(memory0).getUint32(ret + 24, true);
                    var len6 = dataView(memory0).getUint32(ret + 28, true);
                    var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                    variant7 = result6;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant9;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant9 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr8 = dataView(memory0).getUint32(ret + 36, true);
                    var len8 = dataView(memory0).getUint32(ret + 40, true);
                    var result8 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr8, len8));
                    variant9 = result8;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant10= {
                  tag: 'err',
                  val: {
                    code: result4,
                    message: result5,
                    help: variant7,
                    details: variant9,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/runs@0.1.0", function="[method]run.check-call"][Instruction::Return]', {
              funcName: '[method]run.check-call',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant10;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn3(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let runs010MethodRunGrantCall;
    
    Run.prototype.grantCall = function grantCall(arg1, arg2, arg3) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'runs010MethodRunGrantCall',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable1[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Run\" resource.');
            }
            var handle0 = handleTable1[(handle1 << 1) + 1] & ~T_FLAG;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            
            var handle4 = arg2[symbolRscHandle];
            if (!handle4 || (handleTable0[(handle4 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Component\" resource.');
            }
            var handle3 = handleTable0[(handle4 << 1) + 1] & ~T_FLAG;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg3, realloc0, memory0);
            var ptr5= encodeRes.ptr;
            var len5 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/runs@0.1.0", function="[method]run.grant-call"][Instruction::CallWasm] enter', {
              funcName: '[method]run.grant-call',
              paramCount: 6,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => runs010MethodRunGrantCall(handle0, ptr2, len2, handle3, ptr5, len5),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant13;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr6 = dataView(memory0).getUint32(ret + 4, true);
                var len6 = dataView(memory0).getUint32(ret + 8, true);
                var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                variant13= {
                  tag: 'ok',
                  val: result6
                };
                break;
              }
              case 1: {
                var ptr7 = dataView(memory0).getUint32(ret + 4, true);
                var len7 = dataView(memory0).getUint32(ret + 8, true);
                var result7 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr7, len7));
                var ptr8 = dataView(memory0).getUint32(ret + 12, true);
                var len8 = dataView(memory0).getUint32(ret + 16, true);
                var result8 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr8, len8));
                let variant10;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant10 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr9 = dataView(memory0).getUint32(ret + 24, true);
                    var len9 = dataView(memory0).getUint32(ret + 28, true);
                    var result9 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr9, len9));
                    variant10 = result9;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant12;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant12 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr11 = dataView(memory0).getUint32(ret + 36, true);
                    var len11 = dataView(memory0).getUint32(ret + 40, true);
                    var result11 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr11, len11));
                    variant12 = result11;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant13= {
                  tag: 'err',
                  val: {
                    code: result7,
                    message: result8,
                    help: variant10,
                    details: variant12,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/runs@0.1.0", function="[method]run.grant-call"][Instruction::Return]', {
              funcName: '[method]run.grant-call',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant13;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn1(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let runs010MethodRunCacheKey;
    
    Run.prototype.cacheKey = function cacheKey(arg1, arg2) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'runs010MethodRunCacheKey',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable1[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Run\" resource.');
            }
            var handle0 = handleTable1[(handle1 << 1) + 1] & ~T_FLAG;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg2, realloc0, memory0);
            var ptr3= encodeRes.ptr;
            var len3 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/runs@0.1.0", function="[method]run.cache-key"][Instruction::CallWasm] enter', {
              funcName: '[method]run.cache-key',
              paramCount: 5,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => runs010MethodRunCacheKey(handle0, ptr2, len2, ptr3, len3),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant11;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr4 = dataView(memory0).getUint32(ret + 4, true);
                var len4 = dataView(memory0).getUint32(ret + 8, true);
                var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                variant11= {
                  tag: 'ok',
                  val: result4
                };
                break;
              }
              case 1: {
                var ptr5 = dataView(memory0).getUint32(ret + 4, true);
                var len5 = dataView(memory0).getUint32(ret + 8, true);
                var result5 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr5, len5));
                var ptr6 = dataView(memory0).getUint32(ret + 12, true);
                var len6 = dataView(memory0).getUint32(ret + 16, true);
                var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                let variant8;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant8 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr7 = dataView(memory0).getUint32(ret + 24, true);
                    var len7 = dataView(memory0).getUint32(ret + 28, true);
                    var result7 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr7, len7));
                    variant8 = result7;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant10;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant10 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr9 = dataView(memory0).getUint32(ret + 36, true);
                    var len9 = dataView(memory0).getUint32(ret + 40, true);
                    var result9 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr9, len9));
                    variant10 = result9;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant11= {
                  tag: 'err',
                  val: {
                    code: result5,
                    message: result6,
                    help: variant8,
                    details: variant10,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/runs@0.1.0", function="[method]run.cache-key"][Instruction::Return]', {
              funcName: '[method]run.cache-key',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant11;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn1(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    
    const handleTable9 = [T_FLAG, 0];
    handleTable9._createdReps = new Set();
    handleTable9._componentIdx = 0;
    const finalizationRegistry9 = finalizationRegistryCreate((handle) => {
      const { rep } = rscTableRemove(handleTable9, handle);
      exports0['7'](rep);
    });
    
    HANDLE_TABLES[9] = handleTable9;
    let replays010StaticReplayOpen;
    
    class Replay{
      constructor () {
        throw new Error('"Replay" resource does not define a constructor');
      }
    }
    
    Replay.open = function open(arg0, arg1) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'replays010StaticReplayOpen',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var encodeRes = _utf8AllocateAndEncode(arg0, realloc0, memory0);
            var ptr0= encodeRes.ptr;
            var len0 = encodeRes.len;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr1= encodeRes.ptr;
            var len1 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/replays@0.1.0", function="[static]replay.open"][Instruction::CallWasm] enter', {
              funcName: '[static]replay.open',
              paramCount: 4,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => replays010StaticReplayOpen(ptr0, len0, ptr1, len1),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant10;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var handle3 = dataView(memory0).getInt32(ret + 4, true);
                var rsc2 = new.target === Replay ? this : Object.create(Replay.prototype);
                Object.defineProperty(rsc2, symbolRscHandle, { writable: true, value: handle3});
                finalizationRegistry9.register(rsc2, handle3, rsc2);
                Object.defineProperty(rsc2, symbolDispose, { writable: true, value: function () {
                  finalizationRegistry9.unregister(rsc2);
                  const handleEntry = rscTableRemove(handleTable9, handle3);
                  rsc2[symbolDispose] = emptyFunc;
                  rsc2[symbolRscHandle] = undefined;
                  exports0['7'](handleEntry.rep);
                }});
                variant10= {
                  tag: 'ok',
                  val: rsc2
                };
                break;
              }
              case 1: {
                var ptr4 = dataView(memory0).getUint32(ret + 4, true);
                var len4 = dataView(memory0).getUint32(ret + 8, true);
                var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                var ptr5 = dataView(memory0).getUint32(ret + 12, true);
                var len5 = dataView(memory0).getUint32(ret + 16, true);
                var result5 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr5, len5));
                let variant7;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant7 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr6 = dataView(memory0).getUint32(ret + 24, true);
                    var len6 = dataView(memory0).getUint32(ret + 28, true);
                    var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                    variant7 = result6;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant9;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant9 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr8 = dataView(memory0).getUint32(ret + 36, true);
                    var len8 = dataView(memory0).getUint32(ret + 40, true);
                    var result8 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr8, len8));
                    variant9 = result8;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant10= {
                  tag: 'err',
                  val: {
                    code: result4,
                    message: result5,
                    help: variant7,
                    details: variant9,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/replays@0.1.0", function="[static]replay.open"][Instruction::Return]', {
              funcName: '[static]replay.open',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant10;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn3(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let replays010MethodReplayNextStep;
    
    Replay.prototype.nextStep = function nextStep() {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'replays010MethodReplayNextStep',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable9[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Replay\" resource.');
            }
            var handle0 = handleTable9[(handle1 << 1) + 1] & ~T_FLAG;
            
            _debugLog('[iface="graph-host:walker/replays@0.1.0", function="[method]replay.next-step"][Instruction::CallWasm] enter', {
              funcName: '[method]replay.next-step',
              paramCount: 1,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => replays010MethodReplayNextStep(handle0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant9;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr2 = dataView(memory0).getUint32(ret + 4, true);
                var len2 = dataView(memory0).getUint32(ret + 8, true);
                var result2 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr2, len2));
                variant9= {
                  tag: 'ok',
                  val: result2
                };
                break;
              }
              case 1: {
                var ptr3 = dataView(memory0).getUint32(ret + 4, true);
                var len3 = dataView(memory0).getUint32(ret + 8, true);
                var result3 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr3, len3));
                var ptr4 = dataView(memory0).getUint32(ret + 12, true);
                var len4 = dataView(memory0).getUint32(ret + 16, true);
                var result4 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr4, len4));
                let variant6;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant6 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr5 = dataView(memory0).getUint32(ret + 24, true);
                    var len5 = dataView(memory0).getUint32(ret + 28, true);
                    var result5 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr5, len5));
                    variant6 = result5;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant8;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant8 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr7 = dataView(memory0).getUint32(ret + 36, true);
                    var len7 = dataView(memory0).getUint32(ret + 40, true);
                    var result7 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr7, len7));
                    variant8 = result7;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant9= {
                  tag: 'err',
                  val: {
                    code: result3,
                    message: result4,
                    help: variant6,
                    details: variant8,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/replays@0.1.0", function="[method]replay.next-step"][Instruction::Return]', {
              funcName: '[method]replay.next-step',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant9;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn1(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let replays010MethodReplayExecuted;
    
    Replay.prototype.executed = function executed(arg1, arg2) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'replays010MethodReplayExecuted',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable9[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Replay\" resource.');
            }
            var handle0 = handleTable9[(handle1 << 1) + 1] & ~T_FLAG;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            var variant4 = arg2;
            let variant4_0;
            let variant4_1;
            let variant4_2;
            if (variant4 === null || variant4=== undefined) {
              variant4_0 = 0;
              variant4_1 = 0;
              variant4_2 = 0;
            } else {
              const e = variant4;
              
              var encodeRes = _utf8AllocateAndEncode(e, realloc0, memory0);
              var ptr3= encodeRes.ptr;
              var len3 = encodeRes.len;
              
              variant4_0 = 1;
              variant4_1 = ptr3;
              variant4_2 = len3;
            }
            _debugLog('[iface="graph-host:walker/replays@0.1.0", function="[method]replay.executed"][Instruction::CallWasm] enter', {
              funcName: '[method]replay.executed',
              paramCount: 6,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => replays010MethodReplayExecuted(handle0, ptr2, len2, variant4_0, variant4_1, variant4_2),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant11;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                variant11= {
                  tag: 'ok',
                  val: undefined
                };
                break;
              }
              case 1: {
                var ptr5 = dataView(memory0).getUint32(ret + 4, true);
                var len5 = dataView(memory0).getUint32(ret + 8, true);
                var result5 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr5, len5));
                var ptr6 = dataView(memory0).getUint32(ret + 12, true);
                var len6 = dataView(memory0).getUint32(ret + 16, true);
                var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                let variant8;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant8 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr7 = dataView(memory0).getUint32(ret + 24, true);
                    var len7 = dataView(memory0).getUint32(ret + 28, true);
                    var result7 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr7, len7));
                    variant8 = result7;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant10;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant10 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr9 = dataView(memory0).getUint32(ret + 36, true);
                    var len9 = dataView(memory0).getUint32(ret + 40, true);
                    var result9 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr9, len9));
                    variant10 = result9;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant11= {
                  tag: 'err',
                  val: {
                    code: result5,
                    message: result6,
                    help: variant8,
                    details: variant10,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/replays@0.1.0", function="[method]replay.executed"][Instruction::Return]', {
              funcName: '[method]replay.executed',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant11;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn3(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let replays010MethodReplayLookedUp;
    
    Replay.prototype.lookedUp = function lookedUp(arg1, arg2) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'replays010MethodReplayLookedUp',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable9[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Replay\" resource.');
            }
            var handle0 = handleTable9[(handle1 << 1) + 1] & ~T_FLAG;
            
            var variant4 = arg1;
            let variant4_0;
            let variant4_1;
            if (variant4 === null || variant4=== undefined) {
              variant4_0 = 0;
              variant4_1 = 0;
            } else {
              const e = variant4;
              
              var handle3 = e[symbolRscHandle];
              if (!handle3 || (handleTable0[(handle3 << 1) + 1] & T_FLAG) === 0) {
                throw new TypeError('Resource error: Not a valid \"Component\" resource.');
              }
              var handle2 = handleTable0[(handle3 << 1) + 1] & ~T_FLAG;
              
              variant4_0 = 1;
              variant4_1 = handle2;
            }
            
            var encodeRes = _utf8AllocateAndEncode(arg2, realloc0, memory0);
            var ptr5= encodeRes.ptr;
            var len5 = encodeRes.len;
            
            _debugLog('[iface="graph-host:walker/replays@0.1.0", function="[method]replay.looked-up"][Instruction::CallWasm] enter', {
              funcName: '[method]replay.looked-up',
              paramCount: 5,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => replays010MethodReplayLookedUp(handle0, variant4_0, variant4_1, ptr5, len5),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant12;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                variant12= {
                  tag: 'ok',
                  val: undefined
                };
                break;
              }
              case 1: {
                var ptr6 = dataView(memory0).getUint32(ret + 4, true);
                var len6 = dataView(memory0).getUint32(ret + 8, true);
                var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                var ptr7 = dataView(memory0).getUint32(ret + 12, true);
                var len7 = dataView(memory0).getUint32(ret + 16, true);
                var result7 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr7, len7));
                let variant9;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant9 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr8 = dataView(memory0).getUint32(ret + 24, true);
                    var len8 = dataView(memory0).getUint32(ret + 28, true);
                    var result8 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr8, len8));
                    variant9 = result8;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant11;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant11 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr10 = dataView(memory0).getUint32(ret + 36, true);
                    var len10 = dataView(memory0).getUint32(ret + 40, true);
                    var result10 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr10, len10));
                    variant11 = result10;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant12= {
                  tag: 'err',
                  val: {
                    code: result6,
                    message: result7,
                    help: variant9,
                    details: variant11,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/replays@0.1.0", function="[method]replay.looked-up"][Instruction::Return]', {
              funcName: '[method]replay.looked-up',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant12;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn3(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let replays010MethodReplaySummary;
    
    Replay.prototype.summary = function summary() {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'replays010MethodReplaySummary',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'none',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable9[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Replay\" resource.');
            }
            var handle0 = handleTable9[(handle1 << 1) + 1] & ~T_FLAG;
            
            _debugLog('[iface="graph-host:walker/replays@0.1.0", function="[method]replay.summary"][Instruction::CallWasm] enter', {
              funcName: '[method]replay.summary',
              paramCount: 1,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => replays010MethodReplaySummary(handle0),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            var ptr2 = dataView(memory0).getUint32(ret + 0, true);
            var len2 = dataView(memory0).getUint32(ret + 4, true);
            var result2 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr2, len2));
            _debugLog('[iface="graph-host:walker/replays@0.1.0", function="[method]replay.summary"][Instruction::Return]', {
              funcName: '[method]replay.summary',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            task.resolve([result2]);
            const retCopy = result2;
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn0(ret);
            cstate.mayLeave = true;
            task.exit();
            return retCopy;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    let replays010MethodReplayGrant;
    
    Replay.prototype.grant = function grant(arg1, arg2) {
      
      const hostProvided = false;
      getOrCreateAsyncState(0).throwIfTrapped();
      
      const [task, _wasm_call_currentTaskID] = createNewCurrentTask({
        componentIdx: 0,
        isAsync: false,
        isManualAsync: false,
        preserveFutureResult: false,
        entryFnName: 'replays010MethodReplayGrant',
        getCallbackFn: () => null,
        callbackFnName: null,
        errHandling: 'throw-result-err',
        callingWasmExport: true,
      });
      task.setCalleeIsAsync(false);
      
      const started = task.enterSync();
      CURRENT_TASK_MAY_BLOCK.value = task.mayBlock() ? 1 : 0;
      
      if (0!== null) {
        task.setReturnMemoryIdx(0);
        task.setReturnMemory((() => memory0)());
      }
      
      
      return _withGlobalCurrentTaskMeta({
        taskID: task.id(),
        componentIdx: task.componentIdx(),
        fn: () => {
          try {
            
            
            var handle1 = this[symbolRscHandle];
            if (!handle1 || (handleTable9[(handle1 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Replay\" resource.');
            }
            var handle0 = handleTable9[(handle1 << 1) + 1] & ~T_FLAG;
            
            
            var encodeRes = _utf8AllocateAndEncode(arg1, realloc0, memory0);
            var ptr2= encodeRes.ptr;
            var len2 = encodeRes.len;
            
            
            var handle4 = arg2[symbolRscHandle];
            if (!handle4 || (handleTable0[(handle4 << 1) + 1] & T_FLAG) === 0) {
              throw new TypeError('Resource error: Not a valid \"Component\" resource.');
            }
            var handle3 = handleTable0[(handle4 << 1) + 1] & ~T_FLAG;
            
            _debugLog('[iface="graph-host:walker/replays@0.1.0", function="[method]replay.grant"][Instruction::CallWasm] enter', {
              funcName: '[method]replay.grant',
              paramCount: 4,
              async: false,
              postReturn: true,
            });
            
            let ret;
            
            try {
              ret =  _withGlobalCurrentTaskMeta({
                taskID: task.id(),
                componentIdx: task.componentIdx(),
                fn: () => replays010MethodReplayGrant(handle0, ptr2, len2, handle3),
              });
            } catch (err) {
              
              _debugLog('[Instruction::CallWasm] error during sync call', {
                taskID: task.id(),
                err,
              });
              getOrCreateAsyncState(0).markTrapped(err);
              task.setErrored(err);
              task.reject(err);
              task.exit();
              throw err;
              
            }
            
            let variant12;
            switch (dataView(memory0).getUint8(ret + 0, true)) {
              case 0: {
                var ptr5 = dataView(memory0).getUint32(ret + 4, true);
                var len5 = dataView(memory0).getUint32(ret + 8, true);
                var result5 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr5, len5));
                variant12= {
                  tag: 'ok',
                  val: result5
                };
                break;
              }
              case 1: {
                var ptr6 = dataView(memory0).getUint32(ret + 4, true);
                var len6 = dataView(memory0).getUint32(ret + 8, true);
                var result6 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr6, len6));
                var ptr7 = dataView(memory0).getUint32(ret + 12, true);
                var len7 = dataView(memory0).getUint32(ret + 16, true);
                var result7 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr7, len7));
                let variant9;
                switch (dataView(memory0).getUint8(ret + 20, true)) {
                  case 0: {
                    variant9 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr8 = dataView(memory0).getUint32(ret + 24, true);
                    var len8 = dataView(memory0).getUint32(ret + 28, true);
                    var result8 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr8, len8));
                    variant9 = result8;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                let variant11;
                switch (dataView(memory0).getUint8(ret + 32, true)) {
                  case 0: {
                    variant11 = undefined;
                    break;
                  }
                  case 1: {
                    var ptr10 = dataView(memory0).getUint32(ret + 36, true);
                    var len10 = dataView(memory0).getUint32(ret + 40, true);
                    var result10 = TEXT_DECODER_UTF8.decode(new Uint8Array(memory0.buffer, ptr10, len10));
                    variant11 = result10;
                    break;
                  }
                  default: {
                    throw new TypeError('invalid variant discriminant for option');
                  }
                }
                variant12= {
                  tag: 'err',
                  val: {
                    code: result6,
                    message: result7,
                    help: variant9,
                    details: variant11,
                  }
                };
                break;
              }
              default: {
                throw new TypeError('invalid variant discriminant for expected');
              }
            }
            _debugLog('[iface="graph-host:walker/replays@0.1.0", function="[method]replay.grant"][Instruction::Return]', {
              funcName: '[method]replay.grant',
              paramCount: 1,
              async: false,
              postReturn: true
            });
            const retCopy = variant12;
            task.resolve([retCopy.val]);
            
            let cstate = getOrCreateAsyncState(0);
            cstate.mayLeave = false;
            postReturn1(ret);
            cstate.mayLeave = true;
            task.exit();
            
            
            
            if (typeof retCopy === 'object' && retCopy.tag === 'err') {
              throw retCopy.val;
            }
            return retCopy.val;
            
            
          } catch (err) {
            if (!task.isResolvedState()) {
              task.setErrored(err);
              task.reject(err);
            }
            if (!task.isExited()) { task.exit({ skipExclusiveLockCheck: true }); }
            throw err;
          }
        },
      });
      
    };
    const trampoline0 = rscTableCreateOwn.bind(null, handleTable0);
    function trampoline1(handle) {
      const handleEntry = rscTableRemove(handleTable1, handle);
      if (handleEntry.own) {
        exports0['8'](handleEntry.rep);
      }
    }
    function trampoline2(handle) {
      const handleEntry = rscTableRemove(handleTable0, handle);
      if (handleEntry.own) {
        exports0['9'](handleEntry.rep);
      }
    }
    function trampoline3(handle) {
      const handleEntry = rscTableRemove(handleTable2, handle);
      if (handleEntry.own) {
        exports0['4'](handleEntry.rep);
      }
    }
    const trampoline4 = rscTableCreateOwn.bind(null, handleTable2);
    const trampoline5 = rscTableCreateOwn.bind(null, handleTable1);
    const trampoline6 = rscTableCreateOwn.bind(null, handleTable5);
    const trampoline7 = rscTableCreateOwn.bind(null, handleTable6);
    const trampoline8 = rscTableCreateOwn.bind(null, handleTable7);
    const trampoline9 = rscTableCreateOwn.bind(null, handleTable8);
    const trampoline10 = rscTableCreateOwn.bind(null, handleTable3);
    const trampoline11 = rscTableCreateOwn.bind(null, handleTable4);
    const trampoline12 = rscTableCreateOwn.bind(null, handleTable9);
    Promise.all([module0, module1, module2]).catch(() => {});
    ({ exports: exports0 } = yield instantiateCore(yield module1));
    ({ exports: exports1 } = yield instantiateCore(yield module0, {
      '[export]graph-host:walker/functions@0.1.0': {
        '[resource-new]function-call': Object.assign(_guardMayLeave(0, trampoline6), { _jcoMaySuspend: false }),
      },
      '[export]graph-host:walker/host@0.1.0': {
        '[resource-new]outgoing': Object.assign(_guardMayLeave(0, trampoline8), { _jcoMaySuspend: false }),
        '[resource-new]random': Object.assign(_guardMayLeave(0, trampoline7), { _jcoMaySuspend: false }),
        '[resource-new]ranking': Object.assign(_guardMayLeave(0, trampoline9), { _jcoMaySuspend: false }),
      },
      '[export]graph-host:walker/models@0.1.0': {
        '[resource-drop]budget': Object.assign(_guardMayLeave(0, trampoline3), { _jcoMaySuspend: false }),
        '[resource-new]budget': Object.assign(_guardMayLeave(0, trampoline4), { _jcoMaySuspend: false }),
        '[resource-new]call': Object.assign(_guardMayLeave(0, trampoline10), { _jcoMaySuspend: false }),
        '[resource-new]provider': Object.assign(_guardMayLeave(0, trampoline11), { _jcoMaySuspend: false }),
      },
      '[export]graph-host:walker/replays@0.1.0': {
        '[resource-new]replay': Object.assign(_guardMayLeave(0, trampoline12), { _jcoMaySuspend: false }),
      },
      '[export]graph-host:walker/runs@0.1.0': {
        '[resource-drop]run': Object.assign(_guardMayLeave(0, trampoline1), { _jcoMaySuspend: false }),
        '[resource-new]run': Object.assign(_guardMayLeave(0, trampoline5), { _jcoMaySuspend: false }),
      },
      '[export]graph-host:walker/trust@0.1.0': {
        '[resource-drop]component': Object.assign(_guardMayLeave(0, trampoline2), { _jcoMaySuspend: false }),
        '[resource-new]component': Object.assign(_guardMayLeave(0, trampoline0), { _jcoMaySuspend: false }),
      },
    }));
    ({ exports: exports2 } = yield instantiateCore(yield module2, {
      '': {
        $imports: exports0.$imports,
        '0': Object.assign(exports1['graph-host:walker/functions@0.1.0#[dtor]function-call'], { _jcoMaySuspend: false }),
        '1': Object.assign(exports1['graph-host:walker/host@0.1.0#[dtor]outgoing'], { _jcoMaySuspend: false }),
        '2': Object.assign(exports1['graph-host:walker/host@0.1.0#[dtor]random'], { _jcoMaySuspend: false }),
        '3': Object.assign(exports1['graph-host:walker/host@0.1.0#[dtor]ranking'], { _jcoMaySuspend: false }),
        '4': Object.assign(exports1['graph-host:walker/models@0.1.0#[dtor]budget'], { _jcoMaySuspend: false }),
        '5': Object.assign(exports1['graph-host:walker/models@0.1.0#[dtor]call'], { _jcoMaySuspend: false }),
        '6': Object.assign(exports1['graph-host:walker/models@0.1.0#[dtor]provider'], { _jcoMaySuspend: false }),
        '7': Object.assign(exports1['graph-host:walker/replays@0.1.0#[dtor]replay'], { _jcoMaySuspend: false }),
        '8': Object.assign(exports1['graph-host:walker/runs@0.1.0#[dtor]run'], { _jcoMaySuspend: false }),
        '9': Object.assign(exports1['graph-host:walker/trust@0.1.0#[dtor]component'], { _jcoMaySuspend: false }),
      },
    }));
    memory0 = exports1.memory;
    realloc0 = exports1.cabi_realloc;
    
    try {
      realloc0Async = WebAssembly.promising(exports1.cabi_realloc);
    } catch(err) {
      realloc0Async = exports1.cabi_realloc;
    }
    
    postReturn0 = exports1['cabi_post_graph-host:walker/digests@0.1.0#of-bytes'];
    
    try {
      postReturn0Async = WebAssembly.promising(exports1['cabi_post_graph-host:walker/digests@0.1.0#of-bytes']);
    } catch(err) {
      postReturn0Async = exports1['cabi_post_graph-host:walker/digests@0.1.0#of-bytes'];
    }
    
    postReturn1 = exports1['cabi_post_graph-host:walker/digests@0.1.0#canonical'];
    
    try {
      postReturn1Async = WebAssembly.promising(exports1['cabi_post_graph-host:walker/digests@0.1.0#canonical']);
    } catch(err) {
      postReturn1Async = exports1['cabi_post_graph-host:walker/digests@0.1.0#canonical'];
    }
    
    postReturn2 = exports1['cabi_post_graph-host:walker/documents@0.1.0#explain'];
    
    try {
      postReturn2Async = WebAssembly.promising(exports1['cabi_post_graph-host:walker/documents@0.1.0#explain']);
    } catch(err) {
      postReturn2Async = exports1['cabi_post_graph-host:walker/documents@0.1.0#explain'];
    }
    
    postReturn3 = exports1['cabi_post_graph-host:walker/models@0.1.0#[method]budget.charge'];
    
    try {
      postReturn3Async = WebAssembly.promising(exports1['cabi_post_graph-host:walker/models@0.1.0#[method]budget.charge']);
    } catch(err) {
      postReturn3Async = exports1['cabi_post_graph-host:walker/models@0.1.0#[method]budget.charge'];
    }
    
    postReturn4 = exports1['cabi_post_graph-host:walker/host@0.1.0#[method]outgoing.prepare'];
    
    try {
      postReturn4Async = WebAssembly.promising(exports1['cabi_post_graph-host:walker/host@0.1.0#[method]outgoing.prepare']);
    } catch(err) {
      postReturn4Async = exports1['cabi_post_graph-host:walker/host@0.1.0#[method]outgoing.prepare'];
    }
    
    postReturn5 = exports1['cabi_post_graph-host:walker/host@0.1.0#[method]outgoing.receive'];
    
    try {
      postReturn5Async = WebAssembly.promising(exports1['cabi_post_graph-host:walker/host@0.1.0#[method]outgoing.receive']);
    } catch(err) {
      postReturn5Async = exports1['cabi_post_graph-host:walker/host@0.1.0#[method]outgoing.receive'];
    }
    
    postReturn6 = exports1['cabi_post_graph-host:walker/host@0.1.0#[method]ranking.best'];
    
    try {
      postReturn6Async = WebAssembly.promising(exports1['cabi_post_graph-host:walker/host@0.1.0#[method]ranking.best']);
    } catch(err) {
      postReturn6Async = exports1['cabi_post_graph-host:walker/host@0.1.0#[method]ranking.best'];
    }
    
    postReturn7 = exports1['cabi_post_graph-host:walker/host@0.1.0#read-json'];
    
    try {
      postReturn7Async = WebAssembly.promising(exports1['cabi_post_graph-host:walker/host@0.1.0#read-json']);
    } catch(err) {
      postReturn7Async = exports1['cabi_post_graph-host:walker/host@0.1.0#read-json'];
    }
    
    postReturn8 = exports1['cabi_post_graph-host:walker/models@0.1.0#[method]provider.prepare'];
    
    try {
      postReturn8Async = WebAssembly.promising(exports1['cabi_post_graph-host:walker/models@0.1.0#[method]provider.prepare']);
    } catch(err) {
      postReturn8Async = exports1['cabi_post_graph-host:walker/models@0.1.0#[method]provider.prepare'];
    }
    
    documents010CheckGraph = exports1['graph-host:walker/documents@0.1.0#check-graph'];
    documents010Topology = exports1['graph-host:walker/documents@0.1.0#topology'];
    documents010ToMermaid = exports1['graph-host:walker/documents@0.1.0#to-mermaid'];
    documents010ToDot = exports1['graph-host:walker/documents@0.1.0#to-dot'];
    documents010CheckInputs = exports1['graph-host:walker/documents@0.1.0#check-inputs'];
    documents010CheckManifest = exports1['graph-host:walker/documents@0.1.0#check-manifest'];
    documents010Explain = exports1['graph-host:walker/documents@0.1.0#explain'];
    trust010StaticComponentVerify = exports1['graph-host:walker/trust@0.1.0#[static]component.verify'];
    trust010StaticComponentUnderDevelopment = exports1['graph-host:walker/trust@0.1.0#[static]component.under-development'];
    trust010MethodComponentFunction = exports1['graph-host:walker/trust@0.1.0#[method]component.function'];
    trust010MethodComponentReport = exports1['graph-host:walker/trust@0.1.0#[method]component.report'];
    trust010MethodComponentGrant = exports1['graph-host:walker/trust@0.1.0#[method]component.grant'];
    trust010CheckStore = exports1['graph-host:walker/trust@0.1.0#check-store'];
    trust010VerifyText = exports1['graph-host:walker/trust@0.1.0#verify-text'];
    digests010Canonical = exports1['graph-host:walker/digests@0.1.0#canonical'];
    digests010OfBytes = exports1['graph-host:walker/digests@0.1.0#of-bytes'];
    digests010OfInputs = exports1['graph-host:walker/digests@0.1.0#of-inputs'];
    digests010OfManifest = exports1['graph-host:walker/digests@0.1.0#of-manifest'];
    digests010OfState = exports1['graph-host:walker/digests@0.1.0#of-state'];
    digests010OfChannel = exports1['graph-host:walker/digests@0.1.0#of-channel'];
    host010ConstructorRandom = exports1['graph-host:walker/host@0.1.0#[constructor]random'];
    host010MethodRandomBytes = exports1['graph-host:walker/host@0.1.0#[method]random.bytes'];
    host010MethodRandomNumber = exports1['graph-host:walker/host@0.1.0#[method]random.number'];
    host010StaticOutgoingOpen = exports1['graph-host:walker/host@0.1.0#[static]outgoing.open'];
    host010MethodOutgoingPrepare = exports1['graph-host:walker/host@0.1.0#[method]outgoing.prepare'];
    host010MethodOutgoingReceive = exports1['graph-host:walker/host@0.1.0#[method]outgoing.receive'];
    host010StaticRankingOpen = exports1['graph-host:walker/host@0.1.0#[static]ranking.open'];
    host010MethodRankingAdd = exports1['graph-host:walker/host@0.1.0#[method]ranking.add'];
    host010MethodRankingBest = exports1['graph-host:walker/host@0.1.0#[method]ranking.best'];
    host010MethodRankingExcerpt = exports1['graph-host:walker/host@0.1.0#[method]ranking.excerpt'];
    host010ReadJson = exports1['graph-host:walker/host@0.1.0#read-json'];
    host010CallSeed = exports1['graph-host:walker/host@0.1.0#call-seed'];
    functions010StaticFunctionCallOpen = exports1['graph-host:walker/functions@0.1.0#[static]function-call.open'];
    functions010MethodFunctionCallValues = exports1['graph-host:walker/functions@0.1.0#[method]function-call.values'];
    functions010MethodFunctionCallAnswer = exports1['graph-host:walker/functions@0.1.0#[method]function-call.answer'];
    functions010MethodFunctionCallWork = exports1['graph-host:walker/functions@0.1.0#[method]function-call.work'];
    models010StaticBudgetOpen = exports1['graph-host:walker/models@0.1.0#[static]budget.open'];
    models010MethodBudgetInside = exports1['graph-host:walker/models@0.1.0#[method]budget.inside'];
    models010MethodBudgetCharge = exports1['graph-host:walker/models@0.1.0#[method]budget.charge'];
    models010MethodBudgetUsed = exports1['graph-host:walker/models@0.1.0#[method]budget.used'];
    models010MethodBudgetLeft = exports1['graph-host:walker/models@0.1.0#[method]budget.left'];
    models010StaticCallOpen = exports1['graph-host:walker/models@0.1.0#[static]call.open'];
    models010MethodCallAsked = exports1['graph-host:walker/models@0.1.0#[method]call.asked'];
    models010MethodCallBegin = exports1['graph-host:walker/models@0.1.0#[method]call.begin'];
    models010MethodCallTotal = exports1['graph-host:walker/models@0.1.0#[method]call.total'];
    models010MethodCallSettle = exports1['graph-host:walker/models@0.1.0#[method]call.settle'];
    models010MethodCallLate = exports1['graph-host:walker/models@0.1.0#[method]call.late'];
    models010MethodCallRecorded = exports1['graph-host:walker/models@0.1.0#[method]call.recorded'];
    models010StaticProviderOpen = exports1['graph-host:walker/models@0.1.0#[static]provider.open'];
    models010MethodProviderPrepare = exports1['graph-host:walker/models@0.1.0#[method]provider.prepare'];
    models010MethodProviderRead = exports1['graph-host:walker/models@0.1.0#[method]provider.read'];
    models010MethodProviderFailed = exports1['graph-host:walker/models@0.1.0#[method]provider.failed'];
    models010UsedIn = exports1['graph-host:walker/models@0.1.0#used-in'];
    runs010StaticRunStart = exports1['graph-host:walker/runs@0.1.0#[static]run.start'];
    runs010StaticRunRestore = exports1['graph-host:walker/runs@0.1.0#[static]run.restore'];
    runs010StaticRunFork = exports1['graph-host:walker/runs@0.1.0#[static]run.fork'];
    runs010StaticRunVerify = exports1['graph-host:walker/runs@0.1.0#[static]run.verify'];
    runs010MethodRunHandle = exports1['graph-host:walker/runs@0.1.0#[method]run.handle'];
    runs010MethodRunSummary = exports1['graph-host:walker/runs@0.1.0#[method]run.summary'];
    runs010MethodRunGrant = exports1['graph-host:walker/runs@0.1.0#[method]run.grant'];
    runs010MethodRunCheckCall = exports1['graph-host:walker/runs@0.1.0#[method]run.check-call'];
    runs010MethodRunGrantCall = exports1['graph-host:walker/runs@0.1.0#[method]run.grant-call'];
    runs010MethodRunCacheKey = exports1['graph-host:walker/runs@0.1.0#[method]run.cache-key'];
    replays010StaticReplayOpen = exports1['graph-host:walker/replays@0.1.0#[static]replay.open'];
    replays010MethodReplayNextStep = exports1['graph-host:walker/replays@0.1.0#[method]replay.next-step'];
    replays010MethodReplayExecuted = exports1['graph-host:walker/replays@0.1.0#[method]replay.executed'];
    replays010MethodReplayLookedUp = exports1['graph-host:walker/replays@0.1.0#[method]replay.looked-up'];
    replays010MethodReplaySummary = exports1['graph-host:walker/replays@0.1.0#[method]replay.summary'];
    replays010MethodReplayGrant = exports1['graph-host:walker/replays@0.1.0#[method]replay.grant'];
    const digests010 = {
      canonical: canonical,
      ofBytes: ofBytes,
      ofChannel: ofChannel,
      ofInputs: ofInputs,
      ofManifest: ofManifest,
      ofState: ofState,
      
    };
    const documents010 = {
      checkGraph: checkGraph,
      checkInputs: checkInputs,
      checkManifest: checkManifest,
      explain: explain,
      toDot: toDot,
      toMermaid: toMermaid,
      topology: topology,
      
    };
    const functions010 = {
      FunctionCall: FunctionCall,
      
    };
    const host010 = {
      Outgoing: Outgoing,
      Random: Random,
      Ranking: Ranking,
      callSeed: callSeed,
      readJson: readJson,
      
    };
    const models010 = {
      Budget: Budget,
      Call: Call,
      Provider: Provider,
      usedIn: usedIn,
      
    };
    const replays010 = {
      Replay: Replay,
      
    };
    const runs010 = {
      Run: Run,
      
    };
    const trust010 = {
      Component: Component,
      checkStore: checkStore,
      verifyText: verifyText,
      
    };
    
    return { digests: digests010, documents: documents010, functions: functions010, host: host010, models: models010, replays: replays010, runs: runs010, trust: trust010, 'graph-host:walker/digests@0.1.0': digests010, 'graph-host:walker/documents@0.1.0': documents010, 'graph-host:walker/functions@0.1.0': functions010, 'graph-host:walker/host@0.1.0': host010, 'graph-host:walker/models@0.1.0': models010, 'graph-host:walker/replays@0.1.0': replays010, 'graph-host:walker/runs@0.1.0': runs010, 'graph-host:walker/trust@0.1.0': trust010,  };
  })();
  let promise, resolve, reject;
  function normalizeInstantiationError (e) {
    // Native JSPI rejects a suspending import called from a
    // core start function before entering its JS wrapper.
    // At component instantiation time that always means the
    // implicit synchronous task attempted to block.
    if (typeof WebAssembly.SuspendError === 'function' && e instanceof WebAssembly.SuspendError) {
      return new WebAssembly.RuntimeError('cannot block a synchronous task before returning');
    }
    return e;
  }
  function runNext (value) {
    try {
      let done;
      do {
        ({ value, done } = gen.next(value));
      } while (!(value instanceof Promise) && !done);
      if (done) {
        if (resolve) return resolve(value);
        else return value;
      }
      if (!promise) promise = new Promise((_resolve, _reject) => (resolve = _resolve, reject = _reject));
      value.then(nextVal => done ? resolve() : runNext(nextVal), e => reject(normalizeInstantiationError(e)));
    }
    catch (e) {
      e = normalizeInstantiationError(e);
      if (reject) reject(e);
      else throw e;
    }
  }
  const maybeSyncReturn = runNext(null);
  return promise || maybeSyncReturn;
};

export const _util = {
  
}


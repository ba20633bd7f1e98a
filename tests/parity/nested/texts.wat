;; A component that calls another one, with texts and lists both ways: their memories are two, so that adapters copy.
(component
  (component $shouting
    (core module $m
      (memory (export "memory") 1)
      (global $end (mut i32) (i32.const 4096))
      (func $realloc (export "realloc") (param i32 i32 i32 i32) (result i32)
        (local $at i32)
        (local.set $at (i32.and (i32.add (global.get $end) (i32.const 7)) (i32.const -8)))
        (global.set $end (i32.add (local.get $at) (local.get 3)))
        (local.get $at))
      ;; What it is given, with each byte changed: pointer and length at 16.
      (func (export "shout") (param $at i32) (param $length i32) (result i32)
        (local $n i32)
        (block $done
          (loop $next
            (br_if $done (i32.ge_u (local.get $n) (local.get $length)))
            (i32.store8 (i32.add (local.get $at) (local.get $n))
              (i32.and (i32.load8_u (i32.add (local.get $at) (local.get $n))) (i32.const 0xdf)))
            (local.set $n (i32.add (local.get $n) (i32.const 1)))
            (br $next)))
        (i32.store (i32.const 16) (local.get $at))
        (i32.store (i32.const 20) (local.get $length))
        (i32.const 16))
      ;; How many numbers of a list are odd.
      (func (export "odd") (param $at i32) (param $length i32) (result i32)
        (local $n i32) (local $odd i32)
        (block $done
          (loop $next
            (br_if $done (i32.ge_u (local.get $n) (local.get $length)))
            (local.set $odd (i32.add (local.get $odd)
              (i32.and (i32.load (i32.add (local.get $at) (i32.mul (local.get $n) (i32.const 4)))) (i32.const 1))))
            (local.set $n (i32.add (local.get $n) (i32.const 1)))
            (br $next)))
        (local.get $odd))
      (func (export "freed") (param i32) (global.set $end (i32.const 4096))))
    (core instance $i (instantiate $m))
    (func (export "shout") (param "text" string) (result string)
      (canon lift (core func $i "shout") (memory (core memory $i "memory")) (realloc (core func $i "realloc")) (post-return (core func $i "freed"))))
    (func (export "odd") (param "numbers" (list u32)) (result u32)
      (canon lift (core func $i "odd") (memory (core memory $i "memory")) (realloc (core func $i "realloc")))))
  (component $node
    (import "shout" (func $shout (param "text" string) (result string)))
    (import "odd" (func $odd (param "numbers" (list u32)) (result u32)))
    (core module $memory
      (memory (export "memory") 1)
      (data (i32.const 64) "\"what is said, quietly\"")
      (data (i32.const 128) "\01\00\00\00\02\00\00\00\03\00\00\00")
      (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024)))
    (core instance $memory (instantiate $memory))
    (core func $shout (canon lower (func $shout) (memory (core memory $memory "memory")) (realloc (core func $memory "realloc"))))
    (core func $odd (canon lower (func $odd) (memory (core memory $memory "memory"))))
    (core module $m
      (import "memory" "memory" (memory 1))
      (import "other" "shout" (func $shout (param i32 i32 i32)))
      (import "other" "odd" (func $odd (param i32 i32) (result i32)))
      (func (export "run") (result i32)
        (call $shout (i32.const 64) (i32.const 23) (i32.const 16))
        (call $shout (i32.const 64) (i32.const 5) (i32.const 32))
        (i32.store8 (i32.add (i32.load (i32.const 16)) (i32.const 1)) (i32.add (i32.const 48) (call $odd (i32.const 128) (i32.const 3))))
        (i32.const 16)))
    (core instance $i (instantiate $m
      (with "memory" (instance $memory))
      (with "other" (instance (export "shout" (func $shout)) (export "odd" (func $odd))))))
    (func $run (result string) (canon lift (core func $i "run") (memory (core memory $memory "memory"))))
    (instance $action (export "run" (func $run)) (export "describe" (func $run)))
    (export "graph-host:node/action@0.1.0" (instance $action)))
  (instance $shouting (instantiate $shouting))
  (alias export $shouting "shout" (func $shout))
  (alias export $shouting "odd" (func $odd))
  (instance $node (instantiate $node (with "shout" (func $shout)) (with "odd" (func $odd))))
  (alias export $node "graph-host:node/action@0.1.0" (instance $action))
  (export "graph-host:node/action@0.1.0" (instance $action)))

// SPDX-License-Identifier: Apache-2.0
//! The tensors of one case: those that it describes, and the results of its calls.

use crate::arguments::{device, dtype, list_or_empty, unsigned, version};
use dlbridge::{
    sys, Allocator, AllocatorHook, BorrowedTensor, Device, Flags, LegacyTensor, Registration,
    RetainedContext, StoredTensor, Tensor, VersionedTensor,
};
use serde_json::{json, Value};
use std::alloc::Layout;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::{null, null_mut, NonNull};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::Arc;

/// A tensor or memory that the case describes, with a deleter that counts.
pub struct Producer {
    pub has_deleter: bool,
    pub deletes: Arc<AtomicI64>,
    kind: String,
    legacy: sys::DLManagedTensor,
    versioned: sys::DLManagedTensorVersioned,
    // The data that the structs point to.
    _shape: Vec<i64>,
    _strides: Vec<i64>,
    _bytes: Vec<u8>,
}

unsafe extern "C" fn delete_legacy(tensor: *mut sys::DLManagedTensor) {
    // SAFETY: the context is the producer's counter, which outlives the case's tensors.
    unsafe { &*(*tensor).manager_ctx.cast::<AtomicI64>() }.fetch_add(1, Ordering::Relaxed);
}

unsafe extern "C" fn delete_versioned(tensor: *mut sys::DLManagedTensorVersioned) {
    // SAFETY: as above.
    unsafe { &*(*tensor).manager_ctx.cast::<AtomicI64>() }.fetch_add(1, Ordering::Relaxed);
}

impl Producer {
    fn new(spec: &Value) -> Box<Self> {
        let kind = spec["kind"].as_str().expect("a kind").to_owned();
        let mut bytes = bytes_of(spec["bytes"].as_str().unwrap_or(""));
        let mut shape = list_or_empty(&spec["shape"]);
        let mut strides = list_or_empty(&spec["strides"]);
        shape.reserve(1);
        strides.reserve(1);
        let data = unsigned(&spec["data"], 0);
        let start = if bytes.is_empty() { null_mut() } else { bytes.as_mut_ptr() };
        let data = start.wrapping_add(usize::try_from(data).unwrap());
        let tensor = sys::DLTensor {
            data: data.cast(),
            device: raw_device(device(&spec["device"])),
            ndim: i32::try_from(spec["ndim"].as_i64().unwrap_or(0)).unwrap(),
            dtype: raw_dtype(dtype(&spec["dtype"])),
            shape: if spec["shape"].is_null() { null_mut() } else { shape.as_mut_ptr() },
            strides: if spec["strides"].is_null() { null_mut() } else { strides.as_mut_ptr() },
            byte_offset: unsigned(&spec["byte_offset"], 0),
        };
        let has_deleter = spec["deleter"] == true;
        let deletes = Arc::new(AtomicI64::new(0));
        let context = Arc::as_ptr(&deletes).cast_mut().cast();
        let version = version(&spec["version"]);
        Box::new(Self {
            has_deleter,
            deletes,
            kind,
            legacy: sys::DLManagedTensor {
                dl_tensor: tensor,
                manager_ctx: context,
                deleter: has_deleter.then_some(delete_legacy),
            },
            versioned: sys::DLManagedTensorVersioned {
                version: sys::DLPackVersion { major: version.major, minor: version.minor },
                manager_ctx: context,
                deleter: has_deleter.then_some(delete_versioned),
                flags: unsigned(&spec["flags"], 0),
                dl_tensor: tensor,
            },
            _shape: shape,
            _strides: strides,
            _bytes: bytes,
        })
    }

    pub fn data(&self) -> *mut c_void {
        self.versioned.dl_tensor.data
    }

    fn live(&mut self, name: &str) -> Live {
        let legacy = NonNull::from(&mut self.legacy);
        let versioned = NonNull::from(&mut self.versioned);
        // SAFETY: the structs are valid for their kinds for as long as the case runs; elements
        // are read only if the case has bytes.
        unsafe {
            match self.kind.as_str() {
                "LEGACY" => Live::Legacy(LegacyTensor::from_raw(legacy)),
                "VERSIONED" => Live::Versioned(VersionedTensor::from_raw(versioned)),
                "MEMORY" => Live::Memory(name.to_owned()),
                _ => {
                    let tensor = NonNull::from(&mut self.versioned.dl_tensor);
                    Live::Borrowed(BorrowedTensor::from_raw(tensor, Flags(self.versioned.flags)))
                }
            }
        }
    }

    fn is_at(&self, pointer: *const c_void) -> bool {
        let legacy = std::ptr::from_ref(&self.legacy).cast();
        let versioned = std::ptr::from_ref(&self.versioned).cast();
        pointer == legacy || pointer == versioned
    }
}

fn raw_device(device: Device) -> sys::DLDevice {
    sys::DLDevice { device_type: device.device_type.0, device_id: device.id }
}

fn raw_dtype(dtype: dlbridge::Dtype) -> sys::DLDataType {
    sys::DLDataType { code: dtype.code, bits: dtype.bits, lanes: dtype.lanes }
}

pub fn bytes_of(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks_exact(2);
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.map(byte).collect()
}

/// The current value of a name.
#[derive(Debug)]
pub enum Live {
    Legacy(LegacyTensor),
    Versioned(VersionedTensor),
    Tensor(Tensor),
    Stored(StoredTensor<'static>),
    Borrowed(BorrowedTensor<'static>),
    /// Memory that no tensor describes yet: the producer of that name.
    Memory(String),
}

impl Live {
    /// The struct.
    pub fn pointer(&self) -> *const c_void {
        match self {
            Self::Legacy(tensor) => tensor.as_ptr().cast_const().cast(),
            Self::Versioned(tensor) => tensor.as_ptr().cast_const().cast(),
            Self::Tensor(tensor) => tensor.as_ptr().cast_const().cast(),
            Self::Stored(tensor) => tensor.as_ptr().cast_const().cast(),
            Self::Borrowed(tensor) => tensor.as_ptr().cast(),
            Self::Memory(_) => std::ptr::null(),
        }
    }

    /// The tensor inside, for its description; of any version, since the corpus has complete
    /// structs.
    pub fn borrowed(&self) -> BorrowedTensor<'_> {
        match self {
            Self::Legacy(tensor) => tensor.as_borrowed(),
            Self::Versioned(tensor) => {
                let raw = tensor.as_ptr();
                // SAFETY: the structs of the corpus are complete.
                unsafe {
                    let inside = NonNull::new_unchecked(std::ptr::addr_of_mut!((*raw).dl_tensor));
                    BorrowedTensor::from_raw(inside, Flags((*raw).flags))
                }
            }
            Self::Tensor(tensor) => tensor.as_view().as_borrowed(),
            Self::Stored(tensor) => tensor.as_view().as_borrowed(),
            Self::Borrowed(tensor) => *tensor,
            Self::Memory(name) => panic!("{name} is no tensor"),
        }
    }

    /// As a versioned struct, for calls that only the raw functions can make.
    pub fn raw_versioned(&self) -> *const sys::DLManagedTensorVersioned {
        assert!(!matches!(self, Self::Legacy(_) | Self::Borrowed(_) | Self::Memory(_)));
        self.pointer().cast()
    }

    /// As a foreign versioned tensor.
    pub fn into_versioned(self) -> VersionedTensor {
        match self {
            Self::Versioned(tensor) => tensor,
            Self::Tensor(tensor) => tensor.into_versioned(),
            // SAFETY: the storages live as long as the world.
            Self::Stored(tensor) => unsafe { VersionedTensor::from_raw(tensor.into_raw()) },
            other => panic!("{other:?} is not versioned"),
        }
    }

    pub fn into_legacy(self) -> LegacyTensor {
        match self {
            Self::Legacy(tensor) => tensor,
            other => panic!("{other:?} is not legacy"),
        }
    }
}

/// The allocator hook: counts its allocations and deallocations, or fails.
pub struct Counting {
    fails: bool,
    blocks: Arc<AtomicI64>,
}

fn block(bytes: u64, alignment: u64) -> Layout {
    let (bytes, alignment) = (usize::try_from(bytes), usize::try_from(alignment));
    Layout::from_size_align(bytes.unwrap(), alignment.unwrap()).unwrap()
}

// SAFETY: Rust's own allocator.
unsafe impl Allocator for Counting {
    fn allocate(
        &self,
        _: Device,
        bytes: u64,
        alignment: u64,
        _: Option<&sys::DLBridgeStream>,
    ) -> *mut c_void {
        if self.fails {
            return null_mut();
        }
        self.blocks.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the size is not 0.
        unsafe { std::alloc::alloc(block(bytes, alignment)) }.cast()
    }

    unsafe fn deallocate(
        &self,
        _device: Device,
        memory: *mut c_void,
        bytes: u64,
        alignment: u64,
        _stream: Option<&sys::DLBridgeStream>,
    ) {
        self.blocks.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: the values of the allocation.
        unsafe { std::alloc::dealloc(memory.cast(), block(bytes, alignment)) };
    }
}

/// An entry of the context table that the case registered.
struct Entry {
    id: u64,
    registration: Option<Registration>,
    kept: Vec<RetainedContext>,
}

pub struct World {
    /// The struct that was taken last.
    pub taken: *const c_void,
    live: BTreeMap<String, Live>,
    entries: BTreeMap<String, Entry>,
    storages_in_use: Arc<AtomicI64>,
    blocks: Arc<AtomicI64>,
    // After the tensors, so that they are dropped later.
    storages: Vec<Vec<u128>>,
    producers: BTreeMap<String, Box<Producer>>,
}

impl World {
    pub fn new(objects: &Value) -> Self {
        let mut world = Self {
            taken: null(),
            live: BTreeMap::new(),
            entries: BTreeMap::new(),
            storages_in_use: Arc::default(),
            blocks: Arc::default(),
            storages: Vec::new(),
            producers: BTreeMap::new(),
        };
        for (name, spec) in objects.as_object().expect("objects") {
            let mut producer = Producer::new(spec);
            world.live.insert(name.clone(), producer.live(name));
            world.producers.insert(name.clone(), producer);
        }
        world
    }

    pub fn get(&self, name: &Value) -> &Live {
        &self.live[name.as_str().expect("a name")]
    }

    pub fn take(&mut self, name: &Value) -> Live {
        let name = name.as_str().expect("a name");
        let live = self.live.remove(name).unwrap_or_else(|| panic!("no tensor is named {name}"));
        self.taken = live.pointer();
        live
    }

    pub fn put(&mut self, name: &Value, live: Live) {
        self.live.insert(name.as_str().expect("a name").to_owned(), live);
    }

    pub fn memory(&self, name: &Value) -> &Producer {
        match self.get(name) {
            Live::Memory(name) => &self.producers[name],
            other => panic!("{other:?} is no memory"),
        }
    }

    pub fn release(&mut self, name: &Value) {
        if let Live::Memory(name) = self.take(name) {
            let producer = &self.producers[&name];
            producer.deletes.fetch_add(i64::from(producer.has_deleter), Ordering::Relaxed);
        }
    }

    /// Which of the case's own tensors or live results is at `pointer`, or "new".
    pub fn name_of(&self, pointer: *const c_void) -> Value {
        let own = self.producers.iter().find(|(_, producer)| producer.is_at(pointer));
        let live = self.live.iter().find(|(_, live)| live.pointer() == pointer);
        json!(own.map(|(name, _)| name).or(live.map(|(name, _)| name)).map_or("new", |name| name))
    }

    pub fn deletes(&self) -> Value {
        let count = |producer: &Producer| producer.deletes.load(Ordering::Relaxed);
        self.producers
            .iter()
            .map(|(name, producer)| (name.clone(), json!(count(producer))))
            .collect()
    }

    pub fn allocator(&self, fails: bool) -> AllocatorHook {
        AllocatorHook::new(Counting { fails, blocks: self.blocks.clone() })
    }

    /// Storage for an upgrade, counted if the upgrade succeeds.
    pub fn storage(&mut self, size: usize) -> sys::DLBridgeStorage {
        self.storages.push(vec![0_u128; size / 16 + 2]);
        let memory = self.storages.last_mut().unwrap().as_mut_ptr();
        sys::DLBridgeStorage {
            memory: memory.cast(),
            size,
            release: Some(storage_released),
            release_context: Arc::as_ptr(&self.storages_in_use).cast_mut().cast(),
            ..sys::DLBridgeStorage::INIT
        }
    }

    pub fn storage_taken(&self) {
        self.storages_in_use.fetch_add(1, Ordering::Relaxed);
    }

    pub fn register(&mut self, name: &Value, registration: Registration) {
        let entry = Entry { id: registration.id(), registration: Some(registration), kept: vec![] };
        self.entries.insert(name.as_str().expect("a name").to_owned(), entry);
    }

    /// The id of an entry, or an id that no entry has.
    pub fn entry_id(&self, name: &Value) -> u64 {
        self.entries.get(name.as_str().expect("a name")).map_or(u64::MAX, |entry| entry.id)
    }

    pub fn entry_name(&self, id: u64) -> &str {
        let found = self.entries.iter().find(|(_, entry)| entry.id == id);
        found.map_or("other", |(name, _)| name)
    }

    pub fn keep(&mut self, name: &Value, kept: RetainedContext) {
        self.entries.get_mut(name.as_str().unwrap()).expect("an entry").kept.push(kept);
    }

    pub fn kept(&mut self, name: &Value) -> Option<RetainedContext> {
        self.entries.get_mut(name.as_str().unwrap())?.kept.pop()
    }

    pub fn registration(&mut self, name: &Value) -> Option<Registration> {
        self.entries.get_mut(name.as_str().unwrap())?.registration.take()
    }

    /// Releases everything that is left and returns the failures, or "".
    pub fn finish(&mut self) -> String {
        while let Some(name) = self.live.keys().next().cloned() {
            self.release(&json!(name));
        }
        self.entries.clear();
        let mut wrong = String::new();
        for (name, producer) in &self.producers {
            let ran = producer.deletes.load(Ordering::Relaxed);
            if ran != i64::from(producer.has_deleter) {
                wrong += &format!(" deleter of {name} ran {ran} times\n");
            }
        }
        for (what, count) in
            [("storages in use", &self.storages_in_use), ("blocks of the allocator", &self.blocks)]
        {
            let count = count.load(Ordering::Relaxed);
            if count != 0 {
                wrong += &format!(" {what}: {count}\n");
            }
        }
        wrong
    }
}

unsafe extern "C" fn storage_released(context: *mut c_void, _memory: *mut c_void) {
    // SAFETY: the world's counter, which outlives its tensors.
    unsafe { &*context.cast::<AtomicI64>() }.fetch_sub(1, Ordering::Relaxed);
}

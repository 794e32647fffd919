! The calls of genoviz.h for Fortran, which has them in full; arrays of doubles go as they are.
!
!   use genoviz
!   type(genotypes) :: herd
!   call herd%open('herd.bed', 'backend=auto')
!   call herd%multiply(x, y)                   ! x(n_variants, k), y(n_samples, k)
!
! Who gives no `status` ends with the sentence of an error.
module genoviz
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  private
  public :: genotypes, genoviz_sentence

  type :: genotypes
    type(c_ptr), private :: handle = c_null_ptr
    integer(c_int64_t) :: n_samples = 0, n_variants = 0
  contains
    procedure :: open => open_file
    procedure :: pack => open_packed
    procedure :: multiply
    procedure :: multiply_transposed
    procedure, private :: put_column
    procedure, private :: put_columns
    generic :: put => put_column, put_columns
    procedure :: solve
    procedure :: get
    procedure :: close => close_handle
  end type

  interface
    function c_error() bind(c, name='genoviz_error') result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function
    function c_strlen(text) bind(c, name='strlen') result(n)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: n
    end function
    function c_open(path, options) bind(c, name='genoviz_open') result(handle)
      import :: c_ptr, c_char
      character(kind=c_char), intent(in) :: path(*), options(*)
      type(c_ptr) :: handle
    end function
    function c_pack(packed, n_samples, n_variants, options) bind(c, name='genoviz_pack') &
        result(handle)
      import :: c_ptr, c_char, c_int8_t, c_int64_t
      integer(c_int8_t), intent(in) :: packed(*)
      integer(c_int64_t), value :: n_samples, n_variants
      character(kind=c_char), intent(in) :: options(*)
      type(c_ptr) :: handle
    end function
    function c_samples(handle) bind(c, name='genoviz_samples') result(n)
      import :: c_ptr, c_int64_t
      type(c_ptr), value :: handle
      integer(c_int64_t) :: n
    end function
    function c_variants(handle) bind(c, name='genoviz_variants') result(n)
      import :: c_ptr, c_int64_t
      type(c_ptr), value :: handle
      integer(c_int64_t) :: n
    end function
    function c_multiply(handle, x, n_columns, y) bind(c, name='genoviz_multiply') result(failed)
      import :: c_ptr, c_int, c_int64_t, c_double
      type(c_ptr), value :: handle
      real(c_double), intent(in) :: x(*)
      integer(c_int64_t), value :: n_columns
      real(c_double), intent(out) :: y(*)
      integer(c_int) :: failed
    end function
    function c_transposed(handle, x, n_columns, y) bind(c, name='genoviz_multiply_transposed') &
        result(failed)
      import :: c_ptr, c_int, c_int64_t, c_double
      type(c_ptr), value :: handle
      real(c_double), intent(in) :: x(*)
      integer(c_int64_t), value :: n_columns
      real(c_double), intent(out) :: y(*)
      integer(c_int) :: failed
    end function
    function c_put(handle, name, values, n_rows, n_columns) bind(c, name='genoviz_put') &
        result(failed)
      import :: c_ptr, c_char, c_int, c_int64_t, c_double
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), intent(in) :: values(*)
      integer(c_int64_t), value :: n_rows, n_columns
      integer(c_int) :: failed
    end function
    function c_solve(handle, options) bind(c, name='genoviz_solve') result(failed)
      import :: c_ptr, c_char, c_int
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: options(*)
      integer(c_int) :: failed
    end function
    function c_get(handle, name, values, n) bind(c, name='genoviz_get') result(n_there)
      import :: c_ptr, c_char, c_int64_t
      type(c_ptr), value :: handle, values
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: n
      integer(c_int64_t) :: n_there
    end function
    subroutine c_close(handle) bind(c, name='genoviz_close')
      import :: c_ptr
      type(c_ptr), value :: handle
    end subroutine
  end interface

contains

  ! Why the last call failed.
  function genoviz_sentence() result(sentence)
    character(len=:), allocatable :: sentence
    character(kind=c_char), pointer :: letters(:)
    type(c_ptr) :: text
    integer :: i
    text = c_error()
    call c_f_pointer(text, letters, [c_strlen(text)])
    allocate (character(len=size(letters)) :: sentence)
    do i = 1, size(letters)
      sentence(i:i) = letters(i)
    end do
  end function

  subroutine open_file(self, path, options, status)
    class(genotypes), intent(inout) :: self
    character(len=*), intent(in) :: path
    character(len=*), intent(in), optional :: options
    integer, intent(out), optional :: status
    call self%close()
    self%handle = c_open(ended(path), ended(options))
    call keep_size(self, status)
  end subroutine

  ! Genotypes as a .bed file has them after its three first bytes.
  subroutine open_packed(self, packed, n_samples, n_variants, options, status)
    class(genotypes), intent(inout) :: self
    integer(c_int8_t), intent(in) :: packed(*)
    integer(c_int64_t), intent(in) :: n_samples, n_variants
    character(len=*), intent(in), optional :: options
    integer, intent(out), optional :: status
    call self%close()
    self%handle = c_pack(packed, n_samples, n_variants, ended(options))
    call keep_size(self, status)
  end subroutine

  subroutine keep_size(self, status)
    class(genotypes), intent(inout) :: self
    integer, intent(out), optional :: status
    if (c_associated(self%handle)) then
      self%n_samples = c_samples(self%handle)
      self%n_variants = c_variants(self%handle)
      call answer(0, status)
    else
      call answer(-1, status)
    end if
  end subroutine

  ! y = Z x
  subroutine multiply(self, x, y, status)
    class(genotypes), intent(in) :: self
    real(c_double), intent(in), contiguous :: x(:, :)
    real(c_double), intent(out), contiguous :: y(:, :)
    integer, intent(out), optional :: status
    call check_shape(x, self%n_variants, y, self%n_samples)
    call answer(int(c_multiply(self%handle, x, size(x, 2, c_int64_t), y)), status)
  end subroutine

  ! y = Z' x
  subroutine multiply_transposed(self, x, y, status)
    class(genotypes), intent(in) :: self
    real(c_double), intent(in), contiguous :: x(:, :)
    real(c_double), intent(out), contiguous :: y(:, :)
    integer, intent(out), optional :: status
    call check_shape(x, self%n_samples, y, self%n_variants)
    call answer(int(c_transposed(self%handle, x, size(x, 2, c_int64_t), y)), status)
  end subroutine

  subroutine check_shape(x, n_x, y, n_y)
    real(c_double), intent(in) :: x(:, :), y(:, :)
    integer(c_int64_t), intent(in) :: n_x, n_y
    if (size(x, 1) /= n_x .or. size(y, 1) /= n_y .or. size(x, 2) /= size(y, 2)) then
      write (error_unit, '(a, i0, a, i0, a)') 'genoviz: x needs ', n_x, ' rows, y ', n_y, &
        ', and both as many columns'
      stop 1, quiet=.true.
    end if
  end subroutine

  subroutine put_column(self, name, values, status)
    class(genotypes), intent(in) :: self
    character(len=*), intent(in) :: name
    real(c_double), intent(in), contiguous :: values(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = size(values, kind=c_int64_t)
    call answer(int(c_put(self%handle, ended(name), values, n, 1_c_int64_t)), status)
  end subroutine

  subroutine put_columns(self, name, values, status)
    class(genotypes), intent(in) :: self
    character(len=*), intent(in) :: name
    real(c_double), intent(in), contiguous :: values(:, :)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: shape(2)
    shape = [size(values, 1, c_int64_t), size(values, 2, c_int64_t)]
    call answer(int(c_put(self%handle, ended(name), values, shape(1), shape(2))), status)
  end subroutine

  subroutine solve(self, options, status)
    class(genotypes), intent(in) :: self
    character(len=*), intent(in), optional :: options
    integer, intent(out), optional :: status
    call answer(int(c_solve(self%handle, ended(options))), status)
  end subroutine

  ! Values of a result, as many as there are.
  subroutine get(self, name, values, status)
    class(genotypes), intent(in) :: self
    character(len=*), intent(in) :: name
    real(c_double), intent(out), allocatable, target :: values(:)
    integer, intent(out), optional :: status
    integer(c_int64_t) :: n
    n = c_get(self%handle, ended(name), c_null_ptr, 0_c_int64_t)
    allocate (values(max(n, 0_c_int64_t)))
    if (n > 0) n = c_get(self%handle, ended(name), c_loc(values), n)
    call answer(int(min(n, 0_c_int64_t)), status)
  end subroutine

  subroutine close_handle(self)
    class(genotypes), intent(inout) :: self
    call c_close(self%handle)
    self%handle = c_null_ptr
  end subroutine

  ! A text as C takes it.
  pure function ended(text) result(letters)
    character(len=*), intent(in), optional :: text
    character(kind=c_char), allocatable :: letters(:)
    integer :: i, n
    n = 0
    if (present(text)) n = len_trim(text)
    allocate (letters(n + 1))
    do i = 1, n
      letters(i) = text(i:i)
    end do
    letters(n + 1) = c_null_char
  end function

  subroutine answer(failed, status)
    integer, intent(in) :: failed
    integer, intent(out), optional :: status
    if (present(status)) then
      status = failed
    else if (failed /= 0) then
      write (error_unit, '(2a)') 'genoviz: ', genoviz_sentence()
      stop 1, quiet=.true.
    end if
  end subroutine
end module
